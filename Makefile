# For OpenBench, which builds engines with `make EXE=name` and reads the last line of `name bench`.
EXE ?= glance

$(EXE): FORCE
	cargo build --release --bin glance
	cp target/release/glance$(SUFFIX) $(EXE)$(SUFFIX)

ifeq ($(OS),Windows_NT)
SUFFIX := .exe
endif

FORCE:
.PHONY: FORCE
