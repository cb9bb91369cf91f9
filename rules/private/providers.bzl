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
        "source_map": "dict: function → File, which DSL line each C++ line comes from",
    },
)
