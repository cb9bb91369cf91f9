"""The toolchain of the rules: which ptobuild runs.

Most workspaces use the installed one (see repositories.bzl). To pin a binary of your own:

    load("@rules_ptobuild//:toolchain.bzl", "pto_toolchain")

    pto_toolchain(
        name = "ptobuild_linux",
        ptobuild = "//tools:ptobuild",
    )

    toolchain(
        name = "ptobuild_linux_toolchain",
        exec_compatible_with = ["@platforms//os:linux"],
        toolchain = ":ptobuild_linux",
        toolchain_type = "@rules_ptobuild//:toolchain_type",
    )

and register_toolchains("//tools:ptobuild_linux_toolchain").
"""

PtoToolchainInfo = provider(
    doc = "The ptobuild that actions run.",
    fields = {
        "files": "depset of files: the executable and what it needs to run",
        "ptobuild": "File: the executable",
    },
)

def _pto_toolchain_impl(ctx):
    info = PtoToolchainInfo(
        files = depset(
            [ctx.executable.ptobuild] + ctx.files.tools,
            transitive = [ctx.attr.ptobuild[DefaultInfo].default_runfiles.files],
        ),
        ptobuild = ctx.executable.ptobuild,
    )
    return [
        platform_common.ToolchainInfo(pto = info),
        info,
    ]

pto_toolchain = rule(
    implementation = _pto_toolchain_impl,
    attrs = {
        "ptobuild": attr.label(
            doc = "The ptobuild executable.",
            allow_files = True,
            cfg = "exec",
            executable = True,
            mandatory = True,
        ),
        "tools": attr.label_list(
            doc = "Executables that ptobuild starts and looks for beside itself, such as ptobuild-orchestration-host.",
            allow_files = True,
            cfg = "exec",
        ),
    },
    doc = "Names the ptobuild that the rules run.",
    provides = [PtoToolchainInfo],
)
