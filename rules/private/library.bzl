"""pto_library, and what all rules with DSL sources share."""

load(":providers.bzl", "PtoInfo")

def _folder(path):
    """A folder path without empty parts, "." for the root."""
    return "/".join([p for p in path.split("/") if p and p != "."]) or "."

def pto_info(ctx, sources):
    """The PtoInfo of a target with the attributes DEPS.

    Args:
      ctx: the rule's context
      sources: Files, the target's own

    Returns:
      the provider
    """
    folders = []
    for i in ctx.attr.imports:
        i = i[2:] if i.startswith("//") else ctx.label.package + "/" + i
        folders.append(ctx.label.workspace_root + "/" + i)
    generated = [f for f in sources if not f.is_source]
    if generated:
        # Beside a generated source stands no other: its siblings are in the source tree.
        folders.append(ctx.label.workspace_root + "/" + ctx.label.package)

    # Imports start from the root of the repository, too: ptobuild knows that of the main one.
    if generated or ctx.label.workspace_root:
        folders.append(ctx.label.workspace_root)
    roots = [_folder(f) for f in folders]
    if generated:
        roots += [_folder(ctx.bin_dir.path + "/" + f) for f in folders]
    return PtoInfo(
        data = depset(
            ctx.files.data,
            transitive = [d[PtoInfo].data for d in ctx.attr.deps],
        ),
        roots = depset(
            roots,
            order = "preorder",
            transitive = [d[PtoInfo].roots for d in ctx.attr.deps],
        ),
        sources = depset(
            sources,
            transitive = [d[PtoInfo].sources for d in ctx.attr.deps],
        ),
    )

def pto_runfiles(ctx, info):
    """The runfiles of a target: everything that it is built from.

    Args:
      ctx: the rule's context
      info: its PtoInfo

    Returns:
      the runfiles
    """
    return ctx.runfiles(transitive_files = depset(transitive = [info.sources, info.data]))

DEPS = {
    "data": attr.label_list(
        doc = "Files that the Python code of the sources reads, such as a table of sizes in JSON.",
        allow_files = True,
    ),
    "deps": attr.label_list(
        doc = "pto_library and pto_orchestration targets that the sources import.",
        providers = [PtoInfo],
    ),
    "imports": attr.string_list(
        doc = """Folders in which imports are looked up, besides that of the importing file.

They are relative to the package, or with a leading // to the repository, whose root needs no mention. They count for what depends on this target, too.""",
    ),
}

def _pto_library_impl(ctx):
    info = pto_info(ctx, ctx.files.srcs)
    return [
        DefaultInfo(
            files = depset(ctx.files.srcs),
            runfiles = pto_runfiles(ctx, info),
        ),
        info,
    ]

pto_library = rule(
    implementation = _pto_library_impl,
    attrs = dict(
        DEPS,
        srcs = attr.label_list(
            doc = "DSL sources without orchestration functions of their own: kernels, inline functions, constants.",
            allow_files = [".py"],
            mandatory = True,
        ),
    ),
    doc = "DSL sources that others import. It runs nothing.",
    provides = [PtoInfo],
)
