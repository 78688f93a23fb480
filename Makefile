# The two commands of a fresh machine are `make demo` and `make test`; each checks what it needs first.
.PHONY: demo ray test lint generate bench soak e2e fuzz sbom build

build:
	go build -o bin/sluice ./cmd/sluice

# A commit of examples/polyglot becomes a release, a pull request does not, a broken one is stopped.
# make demo ARGS=--exit ends with the demo's outcome.
demo:
	scripts/prerequisites demo
	$(MAKE) --no-print-directory build
	bin/sluice up --demo $(ARGS)

test:
	scripts/test

lint:
	scripts/lint

generate:
	scripts/generate

# Each number as a ratio to a limit measured in the same run.
bench: build
	go run ./test/bench $(ARGS)

# A release of Ray's size on this machine: examples/ray/README.md.
ray: build
	scripts/prerequisites demo
	go run ./test/ray $(ARGS)

# Thousands of seeded kill schedules and the long simulations. Prints its random seed.
soak: build
	scripts/soak

# Against servers and clients that nobody here wrote.
e2e: build
	scripts/prerequisites e2e
	go test -timeout 60m ./test/faults -run TestThreeNodes -three-nodes -v
	cd test/e2e && go test -timeout 60m ./...

# Every fuzz target for a while: make fuzz TIME=1m
fuzz:
	scripts/fuzz $(or $(TIME),20s)

# What the binary is made of, as CycloneDX: bin/sluice.cdx.json
sbom: build
	go run ./test/sbom bin/sluice services/reporter/pages/static >bin/sluice.cdx.json
