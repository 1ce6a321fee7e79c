# The two commands of README.md are `make demo` and `make test`. Everything they need is installed or built by the scripts they call,
# and kept by content under the user's cache directory.

SHELL := /bin/bash
.DEFAULT_GOAL := help
export CGO_ENABLED ?= 0
# The tests and linters use the flag of the programs' builds too, so that each package is compiled once.
export GOFLAGS := $(strip $(shell go env GOFLAGS 2>/dev/null) -trimpath)
# The name that the operator's image gets; with the tag, what the chart looks for.
IMAGE ?= docker.io/sparkoperator/spark-operator:dev
# The name of the console's image, for which the chart looks beside the operator's image.
CONSOLE_IMAGE ?= $(dir $(IMAGE))sparkctl:$(lastword $(subst :, ,$(notdir $(IMAGE))))
# The version that the programs report; for make dist, the version of the release.
VERSION ?= v0.0.0-g$(shell git describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)
MODULE = github.com/sparkoperator/spark-operator

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: go ## run a Spark application through the operator on an embedded Kubernetes
	tools/demo.sh

demo-down: ## end the demo's cluster
	bin/sparklocal down

test: go ## every test, from unit to end-to-end; PARTS=main,e2e chooses, SKIP=e2e leaves out
	go run -C tools ./testrun -only "$(PARTS)" -skip "$(SKIP)"

soak: ## play 120 times as many lives, measure every hostile custom resource, and keep the largest logs; lasts long. HOSTILE_ONLY='regular expression' for some, HOSTILE_TABLE=file for all figures
	LIVES=120 go test -count=1 -timeout=0 ./spark/... ./internal/lifecycle/... ./internal/dialect/...
	SOAK=1 go test -count=1 -timeout=0 -v -run '^(TestHostile|TestObjectsStored)' ./internal/engine/controller ./internal/process/operator
	SOAK=1 go test -count=1 -timeout=40m -v -run '^(TestHugeLine|TestThousandsOfFailedExecutors)$$' ./internal/record/logs

e2e: ## everything on real Spark
	tools/e2e.sh

record: go ## record what the real spark-submit sends, for the tests of spark/submit; ARGS="-new" or ARGS="4.1.4 base"
	tools/record.sh $(ARGS)

unit: ## the main module's tests without a cluster
	go test -short ./...

lint: ## golangci-lint over every module, Vale over Markdown and comments, govulncheck over the programs
	tools/lint.sh

generate: ## write what is generated from the types: deep copies, CRDs, clients
	tools/generate.sh

verify: ## check that generated files match their sources
	tools/verify-generated.sh

build: ## bin/spark-operator, bin/sparkctl and bin/sparklocal
	go build -trimpath -tags grpcnotrace,disable_grpc_modules -ldflags '-s -w -X main.version=$(VERSION)' -o bin/spark-operator ./cmd/spark-operator
	go build -trimpath -tags grpcnotrace,disable_grpc_modules -ldflags '-s -w -X $(MODULE)/internal/cli.Version=$(VERSION)' -o bin/sparkctl ./cmd/sparkctl
	go build -C local -trimpath -o ../bin/sparklocal ./cmd/sparklocal

image: build ## IMAGE=name:tag; write the images of the operator and of the console as tars, to load into or push to a cluster of your own
	mkdir -p dist
	bin/sparklocal image operator --tag $(IMAGE) --output dist/spark-operator.tar
	bin/sparklocal image sparkctl --tag $(CONSOLE_IMAGE) --output dist/sparkctl.tar

dist: go ## sparkctl for every platform, the images of the operator and of the console, the chart, manifests, bills of materials, checksums and a krew manifest in dist/; VERSION=v1.2.3, ARGS="--check" builds twice and compares, ARGS=linux/amd64 or ARGS=image for one
	go run -C tools ./dist $(ARGS)

bench: go ## measure everything in one run and write docs/performance.md; ARGS="-plan quick" or ARGS="-only lives" for less
	cd bench && go run . -out runs -page -check $(ARGS)

docs: ## the documentation site in dist/site; a broken link fails the build
	tools/docs.sh

figures: ## print the measured figures: sizes, start-up times, latency
	tools/figures.sh

go:
	@tools/check-go.sh

.PHONY: go help demo demo-down test soak e2e record unit lint generate verify build dist image bench docs figures
