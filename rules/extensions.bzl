"""Module extension for MODULE.bazel. Bazel 4 and 5 know no extensions and must not load this file."""

load("//:repositories.bzl", "ptobuild_local")

def _ptobuild_impl(module_ctx):
    for module in module_ctx.modules:
        for tag in module.tags.local:
            ptobuild_local(
                name = tag.name,
                path = tag.path,
            )

_local = tag_class(
    attrs = {
        "name": attr.string(
            default = "ptobuild",
            doc = "Name of the repository.",
        ),
        "path": attr.string(
            doc = "Absolute path of the executable; default: ptobuild on the PATH.",
        ),
    },
    doc = "The ptobuild that is installed on the machine.",
)

ptobuild = module_extension(
    implementation = _ptobuild_impl,
    doc = "Repositories with a ptobuild toolchain.",
    tag_classes = {"local": _local},
)
