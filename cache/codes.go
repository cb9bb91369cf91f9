package cache

import "github.com/ptobuild/ptobuild/internal/diag"

// Reports about caches. All but the configuration are warnings: without a cache actions run, and nothing else differs.
const (
	CodeFolder diag.Code = "PTO-C001" // the local cache cannot be read or written
	CodeConfig diag.Code = "PTO-C002" // a cache is not configured rightly
)
