"""pto_sim_test: orchestrations on the simulated runtime."""

load(":plugin.bzl", "plugin_table")
load(":providers.bzl", "PtoInfo", "PtoOrchestrationInfo")
load(":toml.bzl", "toml")

_TOOLCHAIN = str(Label("//:toolchain_type"))

# What Bazel asks of a test becomes flags. Bazel keeps results itself, so the cache lives for this run only. "$0.runfiles" is for runs outside of `bazel test`.
_SCRIPT = """\
#!/bin/sh
set -eu
runfiles="${{TEST_SRCDIR:-$0.runfiles}}/"{workspace}
scratch="${{TEST_TMPDIR:-$(mktemp -d)}}"
export HOME="${{HOME:-$scratch}}" PTOBUILD_CACHE="$scratch/ptobuild"
if [ -n "${{XML_OUTPUT_FILE:-}}" ]; then set -- --junit "$XML_OUTPUT_FILE" "$@"; fi
if [ -n "${{TESTBRIDGE_TEST_ONLY:-}}" ]; then set -- --filter "$TESTBRIDGE_TEST_ONLY" "$@"; fi
if [ -n "${{TEST_TOTAL_SHARDS:-}}" ] && [ "$TEST_TOTAL_SHARDS" -gt 0 ]; then
    set -- --shard "$TEST_SHARD_INDEX/$TEST_TOTAL_SHARDS" "$@"
    touch "${{TEST_SHARD_STATUS_FILE:-/dev/null}}"
fi
exec "$runfiles/"{ptobuild} -C "$runfiles/"{root} {words}{plugins} "$@"
"""

def _quote(s):
    return "'" + s.replace("'", "'\\''") + "'"

def _own_config(ctx):
    """A Pto.toml with one test for each function, from the attributes."""
    if ctx.label.workspace_root:
        fail("a pto_sim_test of another repository needs a config")
    lines = []
    targets = []
    for dep in ctx.attr.deps:
        if PtoOrchestrationInfo not in dep:
            continue
        o = dep[PtoOrchestrationInfo]
        if not o.cpp:
            fail("%s does not name its functions: give it the attribute functions, or this test a config" % dep.label)
        if targets:
            fail("two orchestrations under test: make a test for each, or give a config")
        roots = dep[PtoInfo].roots.to_list()
        lines += [
            "[workspace]",
            "name = " + toml.string(ctx.label.name),
            "sources = [%s]" % toml.string(o.label[2:] + ".py"),
            "roots = [%s]" % ", ".join([toml.string(r) for r in roots]),
            "",
            o.config,
        ] + [plugin_table(p, p.executable.short_path) for p in o.plugins]
        targets = ["%s:%s" % (o.label, f) for f in o.cpp]
    if not targets:
        fail("nothing to test: deps has no pto_orchestration")
    if ctx.attr.function:
        if not [t for t in targets if t.endswith(":" + ctx.attr.function)]:
            fail("there is no function %s, only %s" % (ctx.attr.function, ", ".join(targets)))
        targets = [t for t in targets if t.endswith(":" + ctx.attr.function)]
    inputs = dict(ctx.attr.inputs)
    for f, name in ctx.attr.input_files.items():
        inputs[name] = toml.table({"npy": toml.string(f.files.to_list()[0].short_path)})
    for target in targets:
        lines += [
            "[[test]]",
            "target = " + toml.string(target),
        ]
        for key, values in [("dims", ctx.attr.dims), ("inputs", inputs), ("scalars", ctx.attr.scalars)]:
            if values:
                lines.append("%s = %s" % (key, toml.table({k: toml.literal(v) for k, v in values.items()})))
        if ctx.attr.expected_files:
            lines.append("expect.npy = " + toml.table({
                name: toml.string(f.files.to_list()[0].short_path)
                for f, name in ctx.attr.expected_files.items()
            }))
        if ctx.attr.reference:
            lines.append("expect.reference = [%s]" % toml.string("./" + ctx.executable.reference.short_path))
        for key in ["atol", "rtol"]:
            if getattr(ctx.attr, key):
                lines.append("%s = %s" % (key, getattr(ctx.attr, key)))
        lines.append("")
    config = ctx.actions.declare_file(ctx.label.name + ".toml")
    ctx.actions.write(
        content = "\n".join(lines),
        output = config,
    )
    return config, targets

def _pto_sim_test_impl(ctx):
    pto = ctx.toolchains[_TOOLCHAIN].pto
    symlinks = {}
    programs = {}
    if ctx.file.config:
        for name in ["inputs", "input_files", "expected_files", "scalars", "dims", "reference", "function", "atol", "rtol"]:
            if getattr(ctx.attr, name):
                fail("%s and config exclude each other: the tests of %s say what they need" % (name, ctx.file.config.short_path))
        if not ctx.attr.targets:
            fail("config without targets: name the ptobuild labels whose tests are run")
        config, targets = ctx.file.config, ctx.attr.targets

        # The config says where a plugin is in the workspace of ptobuild; here it is the program that generated the C++.
        programs = {
            p.name: p.executable.short_path
            for d in ctx.attr.deps
            if PtoOrchestrationInfo in d
            for p in d[PtoOrchestrationInfo].plugins
        }
        root = config.short_path[:config.short_path.rfind("/")] if "/" in config.short_path else "."
    else:
        if ctx.attr.targets:
            fail("targets without config: which Pto.toml has their tests?")
        config, targets = _own_config(ctx)
        root = "."
        symlinks["Pto.toml"] = config
    words = ["test"]
    if ctx.attr.schedules:
        words += ["--schedules", str(ctx.attr.schedules)]
    if ctx.attr.seed:
        words += ["--seed", str(ctx.attr.seed)]
    if ctx.attr.no_compile:
        words.append("--no-compile")
    words += ["--rerun"] + targets

    script = ctx.actions.declare_file(ctx.label.name + ".sh")
    ctx.actions.write(
        content = _SCRIPT.format(
            ptobuild = _quote(pto.ptobuild.short_path),
            root = _quote(root),
            words = " ".join([_quote(w) for w in words]),
            plugins = "".join([' --plugin-dev %s="$runfiles/"%s' % (name, _quote(path)) for name, path in sorted(programs.items())]),
            workspace = _quote(ctx.workspace_name),
        ),
        is_executable = True,
        output = script,
    )
    plugins = [p.files for d in ctx.attr.deps if PtoOrchestrationInfo in d for p in d[PtoOrchestrationInfo].plugins]
    data = [f for t in ctx.attr.input_files.keys() + ctx.attr.expected_files.keys() for f in t.files.to_list()]
    runfiles = ctx.runfiles(
        files = [config] + ctx.files.data + data,
        symlinks = symlinks,
        transitive_files = depset(transitive = [pto.files] + plugins + [d[PtoInfo].sources for d in ctx.attr.deps] + [d[PtoInfo].data for d in ctx.attr.deps]),
    )
    if ctx.attr.reference:
        runfiles = runfiles.merge(ctx.attr.reference[DefaultInfo].default_runfiles)
    return [DefaultInfo(
        executable = script,
        runfiles = runfiles,
    )]

pto_sim_test = rule(
    implementation = _pto_sim_test_impl,
    attrs = {
        "atol": attr.string(
            doc = "Absolute tolerance, a number.",
        ),
        "config": attr.label(
            doc = "A Pto.toml with the tests. Its folder is the root that labels start from. Without it, the attributes below describe the test.",
            allow_single_file = ["Pto.toml"],
        ),
        "data": attr.label_list(
            doc = "What the tests of config read besides the sources: .npy files, programs of reference commands.",
            allow_files = True,
        ),
        "deps": attr.label_list(
            doc = "The pto_orchestration targets under test.",
            mandatory = True,
            providers = [PtoInfo],
        ),
        "dims": attr.string_dict(
            doc = "Values of dynamic dimensions.",
        ),
        "expected_files": attr.label_keyed_string_dict(
            doc = "Expected results: .npy file → parameter. Without these and without a reference, the results must equal those of the sequential order.",
            allow_files = [".npy"],
        ),
        "function": attr.string(
            doc = "Test this function only; default: each function of the orchestration.",
        ),
        "input_files": attr.label_keyed_string_dict(
            doc = "Contents of tensors before the run: .npy file → parameter.",
            allow_files = [".npy"],
        ),
        "inputs": attr.string_dict(
            doc = """Contents of other tensors, as Pto.toml writes them: {"x": "{ random = 1, low = -4.0 }"}. Tensors that are not named are random.""",
        ),
        "no_compile": attr.bool(
            doc = "Run only the plan, not the compiled C++: no C++ compiler is needed.",
        ),
        "reference": attr.label(
            doc = "A program that computes the expected results: it gets a folder of inputs and one for its outputs as arguments.",
            cfg = "target",
            executable = True,
        ),
        "rtol": attr.string(
            doc = "Relative tolerance, a number.",
        ),
        "scalars": attr.string_dict(
            doc = "Values of scalar parameters.",
        ),
        "schedules": attr.int(
            doc = "How many seeded task orders to try; 0: as Pto.toml says, else 3.",
        ),
        "seed": attr.int(
            doc = "First seed of the task orders.",
        ),
        "targets": attr.string_list(
            doc = "ptobuild labels whose tests of config are run, such as //examples/softmax:softmax_rows.",
        ),
    },
    doc = """Runs orchestrations on the simulated runtime.

The plan and the compiled C++ run under several task orders; results must match the expectation, and both must do the same. It honours --test_filter (a
regular expression on the names of tests), sharding and --runs_per_test.""",
    test = True,
    toolchains = [_TOOLCHAIN],
)
