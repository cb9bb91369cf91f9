"""The ptobuild that is installed on the machine, as a repository with a toolchain."""

_BUILD = """\
load("@rules_ptobuild//:toolchain.bzl", "pto_toolchain")

package(default_visibility = ["//visibility:public"])

pto_toolchain(
    name = "pto_toolchain",
    ptobuild = "ptobuild",
    tools = glob(
        ["ptobuild-*"],
        allow_empty = True,
    ),
)

toolchain(
    name = "toolchain",
    toolchain = ":pto_toolchain",
    toolchain_type = "@rules_ptobuild//:toolchain_type",
)
"""

_BUILD_CC = """\
load("@rules_cc//cc:cc_library.bzl", "cc_library")

# What generated orchestration C++ includes: the API of the simulated runtime.
cc_library(
    name = "api",
    hdrs = glob(["include/*.h"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

def _ptobuild_local_impl(repository_ctx):
    path = repository_ctx.attr.path or repository_ctx.which("ptobuild")
    if not path:
        fail("ptobuild is not on the PATH: install it, or give its path: pto_workspace(path = ...)")
    path = repository_ctx.path(path)
    if not path.exists:
        fail("there is no %s: build ptobuild, or give another path" % path)
    repository_ctx.symlink(path, "ptobuild")
    for tool in path.dirname.readdir():
        if tool.basename.startswith("ptobuild-"):
            repository_ctx.symlink(tool, tool.basename)
    done = repository_ctx.execute([path, "header", "--out", "cc/include"])
    if done.return_code:
        fail("%s is no ptobuild that these rules can use: %s" % (path, done.stderr))
    repository_ctx.file("BUILD.bazel", _BUILD)
    repository_ctx.file("cc/BUILD.bazel", _BUILD_CC)

ptobuild_local = repository_rule(
    implementation = _ptobuild_local_impl,
    attrs = {
        "path": attr.string(
            doc = "Absolute path of the executable; default: ptobuild on the PATH.",
        ),
    },
    configure = True,
    doc = "A repository with the installed ptobuild: a toolchain, and the header of the C++ API as the cc_library //cc:api.",
    environ = ["PATH"],
    local = True,
)

def pto_workspace(name = "ptobuild", path = None):
    """All that a WORKSPACE needs: the installed ptobuild as a repository, registered as the toolchain.

    Args:
      name: of the repository
      path: absolute path of the executable; default: ptobuild on the PATH
    """
    ptobuild_local(
        name = name,
        path = path,
    )
    native.register_toolchains("@%s//:toolchain" % name)
