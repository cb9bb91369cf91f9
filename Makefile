# The two commands of the README. Both install what is missing (.ci/tools.sh) through apt when they may, else say what to install.

GO ?= go
BIN := .ptobuild/bin/ptobuild
export CGO_ENABLED = 0

.PHONY: demo test check build bench clean

demo: build ## build and test the example programs
	$(BIN) build
	$(BIN) test

test: FOR = tests
test: check ## all checks and tests
	$(GO) test ./...
	@if command -v bazel-4 >/dev/null; then echo "testing with Bazel"; $(GO) test -tags e2e ./rules/e2e ./internal/reapiserver; \
		else echo "the Bazel rules are not tested: that takes Debian's bazel-bootstrap"; fi

check: tools
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	$(GO) vet -tags e2e ./...
	$(GO) tool staticcheck -tags e2e ./...

build: tools
	$(GO) build -o $(dir $(BIN)) ./cmd/...

bench: build ## measure against peers (see bench/README.md)
	$(GO) test -run '^$$' -bench . ./bench/

clean:
	rm -rf .ptobuild build

.PHONY: tools
tools:
	@sh ./.ci/tools.sh $(FOR)
