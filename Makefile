# Targets: venv build test fuzz asan demo bench lint clean. Each creates what it needs and is quick when nothing changed.
SHELL := /bin/bash
.DEFAULT_GOAL := build

PYTHON ?= python3.11
VENV ?= .venv
PY := $(VENV)/bin/python
BUILD_DIR ?= build
BUILD_TYPE ?= Release
JOBS ?= $(shell n=$$(nproc); m=$${MAX_JOBS:-$$n}; echo $$(( m < n ? m : n )))
CMAKE_ARGS ?=
PYTEST_ARGS ?= -n $(JOBS)
GTEST_ARGS ?=
# For example NINJA_ARGS="-k 0": go on past files that do not compile.
NINJA_ARGS ?=

DEV_STAMP := $(VENV)/.dev-installed
DEMO_STAMP := $(VENV)/.demo-installed
LINK_STAMP := $(VENV)/.package-linked

.PHONY: venv venv-demo build configure test test-cpp test-python fuzz asan asan-cpp asan-python demo bench lint format clean help

help:
	@sed -n 's/^# //p' Makefile | head -1

# ---- environment -----------------------------------------------------------------------------------------------------
$(DEV_STAMP): requirements-dev.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed: name another Python 3.10 to 3.13 with make PYTHON=..., or install it (Debian 12: apt-get install python3.11 python3.11-venv python3.11-dev)"; exit 1; }
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || cmake/apt_install.sh "Python's venv module" $(notdir $(PYTHON))-venv
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "installing requirements-dev.txt into $(VENV) (torch is a large download)"
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

$(DEMO_STAMP): requirements-demo.txt $(DEV_STAMP)
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-demo.txt
	@touch $@

# Links python/ into the environment together with the package's entry points; the compiled part is built by `build`.
$(LINK_STAMP): $(DEV_STAMP) setup.py pyproject.toml version.txt
	NVFUSER_SKIP_NATIVE_BUILD=1 $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

venv: $(LINK_STAMP)

venv-demo: venv $(DEMO_STAMP)

# ---- build -----------------------------------------------------------------------------------------------------------
# What only the system can provide: a compiler, Python's headers, and googletest (CMAKE_ARGS=-DNVFUSER_FETCH_GTEST=ON
# fetches googletest instead, for people with a network and without root).
.PHONY: system
system: $(DEV_STAMP)
	@command -v $${CXX:-c++} >/dev/null || cmake/apt_install.sh "a C++ compiler" g++
	@$(PY) -c "import os, sysconfig as s, sys; sys.exit(not os.path.exists(s.get_path('include') + '/Python.h'))" \
	  || cmake/apt_install.sh "Python's header folder" $$($(PY) -c "import sys; print('python%d.%d-dev' % sys.version_info[:2])")
	@case '$(CMAKE_ARGS)' in *NVFUSER_FETCH_GTEST=ON*|*NVFUSER_BUILD_TESTS=OFF*) ;; *) \
	  echo '#include <gtest/gtest.h>' | $${CXX:-c++} -E -x c++ - >/dev/null 2>&1 \
	    || cmake/apt_install.sh "googletest (or build with make CMAKE_ARGS=-DNVFUSER_FETCH_GTEST=ON)" libgtest-dev;; esac

$(BUILD_DIR)/build.ninja: $(DEV_STAMP) | system
	@$(MAKE) --no-print-directory configure

configure: $(DEV_STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cmake -S . -B $(BUILD_DIR) -G Ninja \
	  -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) -DPython_EXECUTABLE=$(CURDIR)/$(PY) $(CMAKE_ARGS)

build: venv system $(BUILD_DIR)/build.ninja
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" ninja -C $(BUILD_DIR) -j$(JOBS) $(NINJA_ARGS)

# ---- use -------------------------------------------------------------------------------------------------------------
test: build venv-demo
	@$(MAKE) --no-print-directory test-cpp test-python

test-cpp: build
	@if [ -x $(BUILD_DIR)/nvfuser_tests ]; then NVFUSER_CHECK_PASSES=1 $(BUILD_DIR)/nvfuser_tests --gtest_brief=1 $(GTEST_ARGS); else echo "no C++ tests were built"; fi

test-python: build
	OMP_NUM_THREADS=1 $(PY) -m pytest tests/python -q $(PYTEST_ARGS)

# Random fusions through generated kernels against ATen: FUZZ_CASES of them (1000), or as many as FUZZ_SECONDS allow, from
# the seed FUZZ_FIRST on (else a drawn one, which is printed), in JOBS processes.
FUZZ_CASES ?=
FUZZ_SECONDS ?=
FUZZ_FIRST ?=
fuzz: build
	OMP_NUM_THREADS=1 $(PY) tests/python/fuzz_kernels.py --jobs $(JOBS) $(if $(FUZZ_CASES),--cases $(FUZZ_CASES)) \
	  $(if $(FUZZ_SECONDS),--seconds $(FUZZ_SECONDS)) $(if $(FUZZ_FIRST),--first $(FUZZ_FIRST))

# AddressSanitizer and UndefinedBehaviorSanitizer: the C++ tests in a build of their own, then generated kernels that are
# compiled with them in Python's process. The build takes 15 to 20 minutes on two cores,
# the C++ tests half a minute, the Python tests about 5 minutes of one core.
ASAN_DIR ?= build-asan
SANITIZERS := address,undefined
ASAN_TESTS ?= tests/python/test_generated_kernels.py tests/python/test_generated_ops.py tests/python/test_generated_random.py
asan: asan-cpp asan-python

asan-cpp: venv system
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cmake -S . -B $(ASAN_DIR) -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DNVFUSER_SANITIZE=$(SANITIZERS) -DNVFUSER_BUILD_PYTHON=OFF -DNVFUSER_PACKAGE_DIR=$(CURDIR)/$(ASAN_DIR)/package \
	  -DPython_EXECUTABLE=$(CURDIR)/$(PY) $(CMAKE_ARGS)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" ninja -C $(ASAN_DIR) -j$(JOBS) $(NINJA_ARGS) nvfuser_tests
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 NVFUSER_CHECK_PASSES=1 \
	  $(ASAN_DIR)/nvfuser_tests --gtest_brief=1 $(GTEST_ARGS)

# The sanitizers must be loaded before Python; the compiler is better off without them.
asan-python: build
	libraries="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)"; \
	env LD_PRELOAD="$$libraries" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 OMP_NUM_THREADS=1 \
	  CXX="env -u LD_PRELOAD g++" NVFUSER_CXXFLAGS="-O1 -g1 -fsanitize=$(SANITIZERS) -fno-sanitize-recover=undefined" \
	  $(PY) -m pytest $(ASAN_TESTS) -q $(PYTEST_ARGS)

demo: build venv-demo
	$(PY) -m nvfuser demo

bench: build
	@for f in benchmarks/*.py; do echo "== $$f"; $(PY) $$f || exit 1; done

lint: $(DEV_STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	@files=$$(git ls-files --cached --others --exclude-standard 'csrc/*.cpp' 'csrc/*.h' 'tests/cpp/*.cpp' 'tests/cpp/*.h' 'examples/*.cpp'); \
	  [ -z "$$files" ] || $(VENV)/bin/clang-format --dry-run --Werror $$files

format: $(DEV_STAMP)
	$(VENV)/bin/ruff check --fix . || true
	$(VENV)/bin/ruff format .
	@files=$$(git ls-files --cached --others --exclude-standard 'csrc/*.cpp' 'csrc/*.h' 'tests/cpp/*.cpp' 'tests/cpp/*.h' 'examples/*.cpp'); \
	  [ -z "$$files" ] || $(VENV)/bin/clang-format -i $$files

clean:
	rm -rf $(BUILD_DIR) $(ASAN_DIR) dist *.egg-info python/*.egg-info
	rm -rf python/nvfuser_direct/lib python/nvfuser_direct/_C_DIRECT*.so python/nvfuser_direct/_build_info.py python/nvfuser_direct/include python/nvfuser_direct/share
