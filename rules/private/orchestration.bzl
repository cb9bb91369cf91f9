"""pto_orchestration: from DSL source to C++."""

load(":library.bzl", "DEPS", "pto_info", "pto_runfiles")
load(":plugin.bzl", "plugin_table")
load(":providers.bzl", "PtoInfo", "PtoOrchestrationInfo", "PtoPluginInfo")
load(":toml.bzl", "toml")

_TOOLCHAIN = str(Label("//:toolchain_type"))

# With these, Bazel keeps ptobuild running from one action to the next. Bazel 4 and 5 refuse the protocol unless told otherwise:
#
#     build --experimental_worker_allow_json_protocol --define=pto_worker=1
_NEW_BAZEL = hasattr(native, "module_name")
_WORKER = {
    "requires-worker-protocol": "json",
    "supports-multiplex-sandboxing": "1",
    "supports-multiplex-workers": "1",
    "supports-worker-cancellation": "1",
    "supports-workers": "1",
}

def _declare(ctx):
    """The outputs of the functions, where `ptobuild emit` writes them: one function at the top, several in a folder each."""
    cpp, kernels, config, source_map = {}, {}, {}, {}
    for f in ctx.attr.functions:
        at = ctx.label.name + "/"
        if len(ctx.attr.functions) > 1:
            at += "next_levels/" + f + "/"
        cpp[f] = ctx.actions.declare_file(at + "orchestration/" + f + ".cpp")
        kernels[f] = ctx.actions.declare_file(at + "kernels.json")
        config[f] = ctx.actions.declare_file(at + "kernel_config.py")
        source_map[f] = ctx.actions.declare_file(at + f + ".map.json")
    return cpp, kernels, config, source_map

# The output folder as a function of an output, so that Bazel may map paths.
def _top(file):
    return file.dirname

def _above(file):
    return file.dirname.rpartition("/next_levels/")[0]

def _label(ctx):
    name = ctx.label.package + ":" + ctx.label.name
    return "//" + name if not ctx.label.workspace_root else "@" + ctx.label.workspace_root.rpartition("/")[2] + "//" + name

def _config(ctx, label):
    """The settings as Pto.toml writes them, for tests of the target."""
    lines = ["[build]"]
    if ctx.attr.profile:
        lines.append("profile = " + toml.string(ctx.attr.profile))
    if ctx.attr.platform:
        lines.append("platform = " + toml.string(ctx.attr.platform))
    if ctx.attr.auto_deps:
        lines.append("analyze_auto_scopes_for_deps = true")
    if ctx.attr.precise_block_outputs:
        lines.append("precise_block_outputs = true")
    if not ctx.attr.manual_alloc_deps:
        lines.append("manual_alloc_deps = false")
    if ctx.attr.env:
        lines.append("env = " + toml.table({k: toml.string(v) for k, v in ctx.attr.env.items()}))
    if ctx.attr.argv:
        lines.append("argv = [" + ", ".join([toml.string(a) for a in ctx.attr.argv]) + "]")
    if ctx.attr.factory or ctx.attr.arguments:
        for f in ctx.attr.functions:
            lines += ["", "[target.%s]" % toml.string(label + ":" + f)]
            if ctx.attr.factory:
                lines.append("factory = " + toml.string(ctx.attr.factory))
            if ctx.attr.arguments:
                lines.append("args = " + toml.table({k: toml.literal(v) for k, v in ctx.attr.arguments.items()}))
    return "\n".join(lines) + "\n"

def _pto_orchestration_impl(ctx):
    pto = ctx.toolchains[_TOOLCHAIN].pto
    info = pto_info(ctx, [ctx.file.src])
    cpp, kernels, kernel_config, source_map = _declare(ctx)
    folder, cpp_folder = None, None
    if ctx.attr.functions:
        outputs = cpp.values() + kernels.values() + kernel_config.values() + source_map.values()
        files = outputs
    else:
        # cc_library takes a folder only if it holds nothing but sources.
        folder = ctx.actions.declare_directory(ctx.label.name)
        cpp_folder = ctx.actions.declare_directory(ctx.label.name + ".cpp")
        outputs = [folder, cpp_folder]
        files = [cpp_folder]

    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    args.add(ctx.file.src)
    args.add("--quiet")
    args.add("--label", _label(ctx))
    if folder:
        args.add_all([folder], before_each = "--out", expand_directories = False)
        args.add_all([cpp_folder], before_each = "--cpp", expand_directories = False)
    else:
        args.add_all(kernels.values()[:1], before_each = "--out", map_each = _top if len(ctx.attr.functions) == 1 else _above)
    if ctx.attr.profile:
        args.add("--profile", ctx.attr.profile)
    if ctx.attr.platform:
        args.add("--platform", ctx.attr.platform)
    if ctx.attr.auto_deps:
        args.add("--auto-deps")
    if ctx.attr.precise_block_outputs:
        args.add("--precise-block-outputs")
    if not ctx.attr.manual_alloc_deps:
        args.add("--manual-alloc-deps=false")
    if ctx.attr.factory:
        args.add("--factory", ctx.attr.factory)
    args.add_all(["%s=%s" % (k, v) for k, v in sorted(ctx.attr.arguments.items())], before_each = "--arg")
    args.add_all(["%s=%s" % (k, v) for k, v in sorted(ctx.attr.env.items())], before_each = "--env")
    args.add_all(ctx.attr.argv, before_each = "--argv")
    args.add_all(info.roots, before_each = "--path")
    declared = depset(transitive = [info.sources, info.data])
    args.add_all(declared, before_each = "--declared")

    plugins = [p[PtoPluginInfo] for p in ctx.attr.plugins]
    tools = pto.files
    inputs = declared
    if plugins:
        table = ctx.actions.declare_file(ctx.label.name + ".plugins.toml")
        ctx.actions.write(
            content = "\n".join([plugin_table(p, p.executable.path) for p in plugins]),
            output = table,
        )
        args.add("--plugins", table)
        args.add("--declared", table)
        inputs = depset([table], transitive = [declared])
        tools = depset(transitive = [pto.files] + [p.files for p in plugins])
    requirements = {}
    if ctx.var.get("pto_worker", "1" if _NEW_BAZEL else "0") != "0":
        requirements.update(_WORKER)
    if not plugins:
        requirements["supports-path-mapping"] = "1"  # the table of plugins holds paths

    command = ctx.actions.args()
    command.add("emit")
    ctx.actions.run(
        arguments = [command, args],
        executable = pto.ptobuild,
        execution_requirements = requirements,
        inputs = inputs,
        mnemonic = "PtoEmit",
        outputs = outputs,
        progress_message = "Generating orchestration C++ of %s" % ctx.file.src.short_path,
        tools = tools,
    )
    label = "//" + ctx.file.src.short_path[:-len(".py")]
    return [
        DefaultInfo(
            files = depset(files),
            runfiles = pto_runfiles(ctx, info),
        ),
        OutputGroupInfo(
            cpp = depset([cpp_folder] if folder else cpp.values()),
            folder = depset([folder] if folder else []),
            kernel_config = depset(kernel_config.values()),
            kernels = depset(kernels.values()),
            source_map = depset(source_map.values()),
        ),
        PtoOrchestrationInfo(
            config = _config(ctx, label),
            cpp = cpp,
            folder = folder,
            kernel_config = kernel_config,
            kernels = kernels,
            label = label,
            plugins = plugins,
            source_map = source_map,
        ),
        info,
    ]

pto_orchestration = rule(
    implementation = _pto_orchestration_impl,
    attrs = dict(
        DEPS,
        arguments = attr.string_dict(
            doc = "Values of the parameters of the factory, or of the jit entries, as Python literals.",
        ),
        argv = attr.string_list(
            doc = "What sys.argv[1:] shows to the Python code of the source.",
        ),
        auto_deps = attr.bool(
            doc = "Derive dependencies in automatic scopes (analyze_auto_scopes_for_deps).",
        ),
        env = attr.string_dict(
            doc = "What os.environ shows to the Python code of the source. It sees nothing of the real environment.",
        ),
        factory = attr.string(
            doc = "The function of src that makes the program.",
        ),
        functions = attr.string_list(
            doc = """The orchestration functions of src, all of them.

Without it the target generates whatever functions there are: the C++ into one folder, which cc_library takes as a source, everything else into another, the output
group folder.""",
        ),
        manual_alloc_deps = attr.bool(
            default = True,
            doc = "Tasks of manual scopes depend on the allocation of their buffers.",
        ),
        platform = attr.string(
            doc = "The chip family.",
            values = ["", "a2a3", "a5"],
        ),
        plugins = attr.label_list(
            doc = "pto_plugin targets whose ops and passes the source needs.",
            providers = [PtoPluginInfo],
        ),
        precise_block_outputs = attr.bool(
            doc = "Pass a tensor that a block only writes as Out wherever the block stands.",
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

The target itself can be a source of a cc_library, which takes the C++ of it. The output groups cpp, kernels, kernel_config and source_map select one kind of file,
for use in a filegroup.""",
    provides = [PtoInfo, PtoOrchestrationInfo],
    toolchains = [_TOOLCHAIN],
)
