package cache

import "github.com/ptobuild/ptobuild/internal/diag"

// Reports about caches. All but the configuration are warnings: without a cache actions run, and nothing else differs.
const (
	CodeFolder diag.Code = "PTO-C001" // the local cache cannot be read or written
	CodeConfig diag.Code = "PTO-C002" // a cache is not configured rightly
	CodeRemote diag.Code = "PTO-C003" // a remote cache does not answer, or refuses
	CodeLied   diag.Code = "PTO-C004" // a remote cache gave something else than it was asked for
	CodeUpload diag.Code = "PTO-C005" // a remote cache does not take results
	CodeHelper diag.Code = "PTO-C006" // the helper program for remote caches is missing or ended
)
