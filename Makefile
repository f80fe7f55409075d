# Everything that can be made here. "make help" lists it.

SHELL = /bin/sh
.SHELLFLAGS = cmd/setup/shell.sh -ec
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# How long each fuzz target runs under "make fuzz", and all of them and the random tests
# together under "make soak".
FUZZTIME ?= 10s
SOAK ?= 10m
# Which benchmarks "make bench" runs, and how long each.
BENCH ?= .
BENCHTIME ?= 1s

# Go writes the revision into a binary, and fails where git does not answer, as
# for root in somebody else's clone.
BUILDFLAGS = $(shell git status --porcelain >/dev/null 2>&1 || echo -buildvcs=false)

# Says so where there are none of other people's files, which some tests read.
WITHOUTDATA = [ -n "$$ORACCL_DATA" ] || echo "ORACCL_DATA is not set: tests on other people's files are left out"

.PHONY: help setup browser coq build site sites screenshots release demo atlas proofs test testall bench fuzz soak lint vendor clean

help: ## list the targets
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1|\2/p' Makefile | while IFS='|' read -r t d; do printf '%-20s%s\n' "$$t" "$$d"; done

setup: ## install what is missing: compilers, Z3, HiGHS, vendor/
	@sh cmd/setup/setup.sh

browser: ## install what is missing of what tests in a browser need: a Chromium without windows
	@sh cmd/setup/setup.sh browser

coq: ## install what is missing of what the theorems need: Coq
	@sh cmd/setup/setup.sh coq

build: setup ## build bin/oraccl and bin/oraccl-check
	go build $(BUILDFLAGS) -o bin/oraccl ./cmd/oraccl
	CGO_ENABLED=0 go build $(BUILDFLAGS) -o bin/oraccl-check ./cmd/oraccl-check

site: setup ## write bin/site, a web page in which oraccl runs: open bin/site/index.html
	go run $(BUILDFLAGS) ./cmd/oraccl-site -o bin/site

sites: setup browser ## try the page of "make site" in a browser on every file of testdata, and on a sample of the XML of ORACCL_DATA
	ORACCL_SITE=all go test -timeout 60m -count 1 -v -run '^TestSite$$' ./cmd/oraccl-site

screenshots: setup browser ## write bin/screenshots, pictures of pages in both themes, wide and narrow, and take those of the README again
	@sh cmd/oraccl/view/screenshots.sh bin/screenshots
	@sh cmd/oraccl/view/screenshots.sh readme

release: setup ## write bin/release: archives of the programs for Linux, macOS and Windows, with manual and completions, and their SHA-256 sums
	go run $(BUILDFLAGS) ./cmd/release -o bin/release

# The demo writes proofs of a small instance, re-checks them with a binary that
# contains no solver, and with the proved checker if make proofs has built that,
# compares every method on a DGX-1, and draws the optimum and a schedule that is wrong.
demo: build ## a certified optimum, its proofs re-checked, every method beside it, and pictures
	@rm -rf demo && mkdir demo
	bin/oraccl solve dgx1 --collective allgather --size 8MiB --chunks 1 --method exact -o demo/dgx1-allgather.json
	bin/oraccl gap dgx1 --collective allgather --size 8MiB --chunks 1 --proofs demo/dgx1-allgather
	bin/oraccl-check demo/dgx1-allgather
	[ ! -x bin/oraccl-check-proved ] || bin/oraccl-check-proved demo/dgx1-allgather
	bin/oraccl gap dgx1 --collective allgather --size 8MiB
	bin/oraccl gap dgx1 --collective allreduce --size 8MiB
	bin/oraccl view demo/dgx1-allgather.json -o demo/dgx1-allgather.html
	bin/oraccl view demo/dgx1-allgather.json -o demo/dgx1-allgather.svg
	cp testdata/schedules/reject/ring4-allreduce-pipelined/transfer-0-again-at-the-end.json demo/refuted.json
	bin/oraccl view demo/refuted.json -o demo/refuted.html || [ $$? -eq 1 ]
	@printf '\nOpen in a browser (nothing is fetched):\n  %s\n  %s\n' "$$PWD/demo/dgx1-allgather.html" "$$PWD/demo/refuted.html"
	@echo 'The same optimum as a drawing for a paper: demo/dgx1-allgather.svg'

atlas: build ## solve the atlas, in about an hour, and write its kept rows, its picture and its section of the README (it goes on where it was stopped)
	bin/oraccl repro atlas --full -o repro
	cp repro/atlas/atlas.csv testdata/published/atlas/rows.csv
	UPDATE=1 go test $(BUILDFLAGS) -count=1 -run '^TestAtlas' ./cmd/oraccl/experiment

proofs: setup coq ## check the directory proofs with Z3, cvc5, Coq and two checkers of LRAT, and build bin/oraccl-check-proved (PROOFS='-without cvc5')
	go run $(BUILDFLAGS) ./cmd/proofs -checker bin/oraccl-check-proved $(PROOFS)

test: setup browser ## run the tests in less than ten minutes (ORACCL_DATA=directory of other people's files, for those that read them)
	@$(WITHOUTDATA)
	@echo "What takes long is left out, or tried on fewer cases: make testall runs it whole"
	RAPID_SEED=$${RAPID_SEED:-1} RAPID_CHECKS=$${RAPID_CHECKS:-500} go test -short -timeout 9m -ldflags=-w ./...

testall: setup browser ## run all tests, those that take long too (ORACCL_DATA as above)
	@$(WITHOUTDATA)
	RAPID_SEED=$${RAPID_SEED:-1} go test -timeout 15m -ldflags=-w ./...

bench: setup browser ## run the benchmarks (BENCH=regexp BENCHTIME=1s)
	go test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

fuzz: setup ## run every fuzz target for FUZZTIME each
	go run $(BUILDFLAGS) ./cmd/soak -run '^Fuzz' -each $(FUZZTIME)

soak: setup ## try random cases and every fuzz target for SOAK in all, and count them (SOAK=10m)
	go run $(BUILDFLAGS) ./cmd/soak -time $(SOAK)

lint: setup ## gofmt, go vet and staticcheck
	@unformatted=$$(gofmt -l *.go cmd model solve verify); if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

vendor: ## write vendor/ again, as after a change of go.mod (never "go mod vendor")
	@rm -f .deps/stamp
	@sh cmd/setup/setup.sh

clean: ## remove what was built; .deps and vendor/ stay
	rm -rf bin demo
