"""pto_plugin: ops and passes from a program of its own."""

load(":providers.bzl", "PtoPluginInfo")
load(":toml.bzl", "toml")

def plugin_table(plugin, path):
    """The [plugins] table of a plugin.

    Args:
      plugin: a PtoPluginInfo
      path: of the executable, as the process sees it that reads the table

    Returns:
      text of a Pto.toml
    """
    return "\n".join(["[plugins.%s]" % plugin.name, "path = " + toml.string(path)] + plugin.settings) + "\n"

def _pto_plugin_impl(ctx):
    settings = []
    for key, value in [
        ("version", ctx.attr.version),
        ("sha256", ctx.attr.sha256),
        ("timeout", ctx.attr.call_timeout),
        ("memory", ctx.attr.memory),
    ]:
        if value:
            settings.append("%s = %s" % (key, toml.string(value)))
    for key, value in sorted(ctx.attr.options.items()):
        settings.append("options.%s = %s" % (toml.string(key), value))
    executable = ctx.executable.executable
    files = depset([executable], transitive = [ctx.attr.executable[DefaultInfo].default_runfiles.files])
    return [
        DefaultInfo(files = depset([executable])),
        PtoPluginInfo(
            executable = executable,
            files = files,
            name = ctx.attr.plugin_name or ctx.label.name,
            settings = settings,
        ),
    ]

pto_plugin = rule(
    implementation = _pto_plugin_impl,
    attrs = {
        "call_timeout": attr.string(
            doc = "How long a call may take, such as 10s.",
        ),
        "executable": attr.label(
            doc = "The program: a go_binary, a py_binary, or a file.",
            allow_files = True,
            cfg = "exec",
            executable = True,
            mandatory = True,
        ),
        "memory": attr.string(
            doc = "What it may allocate, such as 512MB.",
        ),
        "options": attr.string_dict(
            doc = """Options, as Pto.toml writes their values: {"base": "10000.0", "mode": '"fast"'}.""",
        ),
        "plugin_name": attr.string(
            doc = "The namespace of its ops; default: the name of the target.",
        ),
        "sha256": attr.string(
            doc = "What the program must be, in hex: for one that Bazel does not build.",
        ),
        "version": attr.string(
            doc = "The version that it must have.",
        ),
    },
    doc = "Ops and passes from a program of its own, for the plugins of a pto_orchestration.",
    provides = [PtoPluginInfo],
)
