// Package eval computes the module-level Python around DSL code without running Python: constants, dataclass configurations, imports of
// sibling files, plain functions, and factories that define DSL functions. It is a tree-walking interpreter over ir/lang/syntax.
//
// What it computes it computes exactly as Python does. What it cannot know before the program runs — results of torch, numpy or any package
// that is not in the search path, files, clocks — poisons the names that depend on it. A poisoned name is no error by itself: only its use
// in DSL code is, and the report then names the chain from the name to the cause.
//
// Code of test frameworks that are not there goes as far as it can: a class of an unknown base works except for what the base may have, and an
// unknown decorator (@pytest.mark.parametrize) poisons the function only for other code; Module.Run calls it without the decorator.
//
// DSL functions and classes are not executed. A definition decorated with pl.program, pl.function, pl.inline or pl.jit… evaluates to a
// *DSL that holds the tree and the environment in which its names are to be looked up.
//
// Evaluation is reproducible: files are read only through Options.ReadFile, environment variables and arguments come from Options alone,
// and __name__ is never "__main__". It always ends: steps, depth and sizes are bounded. A Loader is not safe for concurrent use.
package eval
