"""What targets of the rules tell each other."""

PtoInfo = provider(
    doc = "DSL sources, for rules that read them.",
    fields = {
        "data": "depset of Files: what the code of the sources reads besides them",
        "roots": "depset of strings: folders, from the execution root, in which imports are looked up",
        "sources": "depset of Files: the .py files of a target and of all that it imports",
    },
)

PtoOrchestrationInfo = provider(
    doc = "What ptobuild generated for the orchestration functions of a source.",
    fields = {
        "config": "string: how it was built, as tables of a Pto.toml",
        "cpp": "dict: function → File, its orchestration C++",
        "folder": "File: the folder with the kernel tables and source maps of a target that does not name its functions; else None",
        "kernel_config": "dict: function → File, its kernel_config.py for the public runtime",
        "kernels": "dict: function → File, its kernel table, kernels.json",
        "label": "string: what ptobuild calls the source: //folder/file",
        "plugins": "list of PtoPluginInfo: the plugins that had a hand in it",
        "source_map": "dict: function → File, which DSL line each C++ line comes from",
    },
)

PtoPluginInfo = provider(
    doc = "A plugin of ptobuild: ops and passes in a program of its own.",
    fields = {
        "executable": "File: the program",
        "files": "depset of Files: the program and what it needs to run",
        "name": "string: what [plugins.NAME] calls it",
        "settings": "list of strings: the keys of its table, as Pto.toml writes them, without the path",
    },
)
