package ops

import "sync"

// Builtin is the registry of all built-in ops. It is built once, on first use.
func Builtin() *Registry { return builtin() }

var builtin = sync.OnceValue(func() *Registry {
	var specs []*Spec
	for _, family := range [...]func() []*Spec{
		createSpecs, elementwiseSpecs, unarySpecs, reduceSpecs, expandSpecs, matmulSpecs, memorySpecs, viewSpecs, accessSpecs, gatherSpecs,
		arraySpecs, systemSpecs, pipeSpecs, distributedSpecs, prefetchSpecs,
	} {
		specs = append(specs, family()...)
	}
	return NewRegistry(specs...)
})
