# One line a job; what it does stands in scripts/.

.PHONY: help setup run test check bench deb

help:
	@echo 'make setup   make .venv with the commands in it'
	@echo 'make run     serve chat and files with the embedded demo engine'
	@echo 'make test    run the tests'
	@echo 'make check   lint, types, layers'
	@echo 'make deb     make the package for Debian and its kin in build/'
	@echo 'make bench   measure, and write docs/reference/performance.md'

setup:
	@scripts/setup

run: setup
	@scripts/run

test: setup
	@scripts/test

check: setup
	@scripts/check

deb: setup
	@scripts/deb

bench: setup
	@scripts/bench
