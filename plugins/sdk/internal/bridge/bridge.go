// Package bridge lets sdktest see what a plugin of package sdk serves, which is nobody else's business.
package bridge

import "github.com/ptobuild/ptobuild/plugins/serve"

// Served turns a *sdk.Plugin into what is served; package sdk sets it.
var Served func(plugin any) serve.Plugin
