"""Rules for PyPTO orchestration programs.

    load("@rules_ptobuild//:defs.bzl", "pto_library", "pto_orchestration", "pto_sim_test")

    pto_library(
        name = "shapes",
        srcs = ["shapes.py"],
    )

    pto_orchestration(
        name = "softmax",
        src = "softmax.py",
        functions = ["softmax_rows"],
        deps = [":shapes"],
    )

    pto_sim_test(
        name = "softmax_test",
        config = "//:Pto.toml",
        targets = ["//examples/softmax:softmax_rows"],
        deps = [":softmax"],
    )

`ptobuild bazel` writes and updates such BUILD files from the sources and Pto.toml.

The rules work with Bazel 4.2 and later. The ptobuild that they run comes from a toolchain: see toolchain.bzl.
"""

PtoInfo = provider(
    doc = "DSL sources, for rules that read them.",
    fields = {
        "roots": "depset of strings: folders, from the execution root, in which imports are looked up",
        "sources": "depset of Files: the .py files of a target and of all that it imports",
    },
)

PtoOrchestrationInfo = provider(
    doc = "What ptobuild generated for the orchestration functions of a file.",
    fields = {
        "cpp": "dict: function → File, its orchestration C++",
        "kernel_config": "dict: function → File, its kernel_config.py for the public runtime",
        "kernels": "dict: function → File, its kernel table, kernels.json",
        "source_map": "dict: function → File, which DSL line each C++ line comes from",
    },
)

_TOOLCHAIN = str(Label("//:toolchain_type"))

def _roots(ctx):
    """The folders that this target adds for imports, from the execution root."""
    roots = []
    for i in ctx.attr.imports:
        i = i[2:] if i.startswith("//") else ctx.label.package + "/" + i
        parts = [p for p in (ctx.label.workspace_root + "/" + i).split("/") if p and p != "."]
        roots.append("/".join(parts) or ".")
    return roots

def _pto_info(ctx, sources):
    return PtoInfo(
        roots = depset(
            _roots(ctx),
            order = "preorder",
            transitive = [d[PtoInfo].roots for d in ctx.attr.deps],
        ),
        sources = depset(
            sources,
            transitive = [d[PtoInfo].sources for d in ctx.attr.deps],
        ),
    )

_DEPS = {
    "deps": attr.label_list(
        doc = "pto_library and pto_orchestration targets that the sources import.",
        providers = [PtoInfo],
    ),
    "imports": attr.string_list(
        doc = """Folders in which imports are looked up, besides that of the importing file.

They are relative to the package, or with a leading // to the repository. They count for what depends on this target, too.""",
    ),
}

def _pto_library_impl(ctx):
    info = _pto_info(ctx, ctx.files.srcs)
    return [
        DefaultInfo(
            files = depset(ctx.files.srcs),
            runfiles = ctx.runfiles(transitive_files = info.sources),
        ),
        info,
    ]

pto_library = rule(
    implementation = _pto_library_impl,
    attrs = dict(
        _DEPS,
        srcs = attr.label_list(
            doc = "DSL sources without orchestration functions of their own: kernels, inline functions, constants.",
            allow_files = [".py"],
            mandatory = True,
        ),
    ),
    doc = "DSL sources that others import. It runs nothing.",
    provides = [PtoInfo],
)

def _pto_orchestration_impl(ctx):
    pto = ctx.toolchains[_TOOLCHAIN].pto
    info = _pto_info(ctx, [ctx.file.src])

    # Where `ptobuild emit` writes: one function at the top, several in a folder each.
    cpp, kernels, config, source_map, outputs = {}, {}, {}, {}, []
    for f in ctx.attr.functions:
        at = ctx.label.name + "/"
        if len(ctx.attr.functions) > 1:
            at += "next_levels/" + f + "/"
        cpp[f] = ctx.actions.declare_file(at + "orchestration/" + f + ".cpp")
        kernels[f] = ctx.actions.declare_file(at + "kernels.json")
        config[f] = ctx.actions.declare_file(at + "kernel_config.py")
        source_map[f] = ctx.actions.declare_file(at + f + ".map.json")
        outputs += [cpp[f], kernels[f], config[f], source_map[f]]
    out = outputs[1].dirname
    if len(ctx.attr.functions) > 1:
        out = out[:-len("/next_levels/" + ctx.attr.functions[0])]

    args = ctx.actions.args()
    args.add("emit")
    args.add(ctx.file.src)
    args.add("--out", out)
    if ctx.attr.profile:
        args.add("--profile", ctx.attr.profile)
    if ctx.attr.auto_deps:
        args.add("--auto-deps")
    args.add_all(info.roots, before_each = "--path")
    ctx.actions.run(
        arguments = [args],
        executable = pto.ptobuild,
        inputs = info.sources,
        mnemonic = "PtoEmit",
        outputs = outputs,
        progress_message = "Generating orchestration C++ of %s" % ctx.file.src.short_path,
        tools = pto.files,
    )
    return [
        DefaultInfo(
            files = depset(outputs),
            runfiles = ctx.runfiles(transitive_files = info.sources),
        ),
        OutputGroupInfo(
            cpp = depset(cpp.values()),
            kernel_config = depset(config.values()),
            kernels = depset(kernels.values()),
            source_map = depset(source_map.values()),
        ),
        PtoOrchestrationInfo(
            cpp = cpp,
            kernel_config = config,
            kernels = kernels,
            source_map = source_map,
        ),
        info,
    ]

pto_orchestration = rule(
    implementation = _pto_orchestration_impl,
    attrs = dict(
        _DEPS,
        auto_deps = attr.bool(
            doc = "Derive dependencies in automatic scopes (analyze_auto_scopes_for_deps).",
        ),
        functions = attr.string_list(
            doc = "The orchestration functions of src, all of them.",
            allow_empty = False,
            mandatory = True,
        ),
        profile = attr.string(
            doc = "API profile of the generated C++ (`ptobuild version` lists them); default: ptobuild's.",
        ),
        src = attr.label(
            doc = "The DSL source.",
            allow_single_file = [".py"],
            mandatory = True,
        ),
    ),
    doc = """Generates the orchestration C++ and the kernel table of a DSL source.

The output groups cpp, kernels, kernel_config and source_map select one kind of file, for use in a filegroup that other rules take as sources.""",
    provides = [PtoInfo, PtoOrchestrationInfo],
    toolchains = [_TOOLCHAIN],
)

def _quote(s):
    return "'" + s.replace("'", "'\\''") + "'"

def _pto_sim_test_impl(ctx):
    pto = ctx.toolchains[_TOOLCHAIN].pto
    root = ctx.file.config.short_path
    root = root[:root.rfind("/")] if "/" in root else "."
    words = ["test"]
    if ctx.attr.schedules:
        words += ["--schedules", str(ctx.attr.schedules)]
    if ctx.attr.seed:
        words += ["--seed", str(ctx.attr.seed)]
    if ctx.attr.no_compile:
        words.append("--no-compile")
    words += ["--rerun"] + ctx.attr.targets

    # Bazel keeps results itself, so the cache lives for this run only. "${0}.runfiles" is for runs outside of `bazel test`.
    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        content = """\
#!/bin/sh
set -eu
runfiles="${{TEST_SRCDIR:-$0.runfiles}}/"{workspace}
scratch="${{TEST_TMPDIR:-$(mktemp -d)}}"
export HOME="${{HOME:-$scratch}}" PTOBUILD_CACHE="$scratch/ptobuild"
exec "$runfiles/"{ptobuild} -C "$runfiles/"{root} {words} "$@"
""".format(
            ptobuild = _quote(pto.ptobuild.short_path),
            root = _quote(root),
            words = " ".join([_quote(w) for w in words]),
            workspace = _quote(ctx.workspace_name),
        ),
        is_executable = True,
        output = script,
    )
    runfiles = ctx.runfiles(
        files = [ctx.file.config] + ctx.files.data,
        transitive_files = depset(transitive = [pto.files] + [d[PtoInfo].sources for d in ctx.attr.deps]),
    )
    return [DefaultInfo(
        executable = script,
        runfiles = runfiles,
    )]

pto_sim_test = rule(
    implementation = _pto_sim_test_impl,
    attrs = {
        "config": attr.label(
            doc = "The Pto.toml of the workspace. Its folder is the root that labels start from.",
            allow_single_file = ["Pto.toml"],
            mandatory = True,
        ),
        "data": attr.label_list(
            doc = "What the tests read besides the sources: .npy files, programs of reference commands.",
            allow_files = True,
        ),
        "deps": attr.label_list(
            doc = "The pto_orchestration targets under test.",
            mandatory = True,
            providers = [PtoInfo],
        ),
        "no_compile": attr.bool(
            doc = "Run only the plan, not the compiled C++: no C++ compiler is needed.",
        ),
        "schedules": attr.int(
            doc = "How many seeded task orders to try; 0: as Pto.toml says.",
        ),
        "seed": attr.int(
            doc = "First seed of the task orders.",
        ),
        "targets": attr.string_list(
            doc = "ptobuild labels whose tests of Pto.toml are run, such as //examples/softmax:softmax_rows.",
            allow_empty = False,
            mandatory = True,
        ),
    },
    doc = """Runs the tests of Pto.toml for some targets on the simulated runtime.

The plan and the compiled C++ run under several task orders; results must match the expectation, and both must do the same.""",
    test = True,
    toolchains = [_TOOLCHAIN],
)
