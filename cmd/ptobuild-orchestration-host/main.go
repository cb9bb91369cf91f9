// Command ptobuild-orchestration-host runs compiled C++ for ptobuild, which starts it for every run. It is a program of its own because user code may take its process
// down, because it starts three times as fast as ptobuild itself would, and because loading C++ makes every start of a program dearer.
package main

import "github.com/ptobuild/ptobuild/runtime/native/host"

func main() { host.Main() }
