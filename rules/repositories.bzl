"""The ptobuild that is installed on the machine, as a repository with a toolchain."""

_BUILD = """\
load("@rules_ptobuild//:toolchain.bzl", "pto_toolchain")

package(default_visibility = ["//visibility:public"])

pto_toolchain(
    name = "pto_toolchain",
    ptobuild = "ptobuild",
)

toolchain(
    name = "toolchain",
    toolchain = ":pto_toolchain",
    toolchain_type = "@rules_ptobuild//:toolchain_type",
)
"""

def _ptobuild_local_impl(repository_ctx):
    path = repository_ctx.attr.path or repository_ctx.which("ptobuild")
    if not path:
        fail("ptobuild is not on the PATH: install it, or give its path: ptobuild_local(name = %r, path = ...)" % repository_ctx.name)
    repository_ctx.symlink(path, "ptobuild")
    repository_ctx.file("BUILD.bazel", _BUILD)

ptobuild_local = repository_rule(
    implementation = _ptobuild_local_impl,
    attrs = {
        "path": attr.string(
            doc = "Absolute path of the executable; default: ptobuild on the PATH.",
        ),
    },
    configure = True,
    doc = "A repository with the installed ptobuild: register_toolchains(\"@NAME//:toolchain\").",
    environ = ["PATH"],
    local = True,
)
