# The marked example programs, built as a user would: the header in -Iinclude, no link flag. One
# that has no compiler here is left out, and said when it would have been needed.

EXAMPLE_FLAGS := -Iinclude $(OPT) -Wall -Wextra -Wshadow
EXAMPLES :=
example_left_out = $(if $(filter check demo,$(MAKECMDGOALS)),$(info left out: $(1)))
have = $(shell command -v $(firstword $(1)) >/dev/null 2>&1 && echo yes)

# $(CC), or gcc where $(CC) comes without an OpenMP library, as clang may.
EXAMPLE_OMPCC := $(firstword $(foreach c,$(CC) gcc,$(if $(shell echo 'int main(void){return 0;}' | \
	$(c) -fopenmp -include omp.h -x c -o /dev/null - 2>/dev/null && echo yes),$(c))))
ifneq ($(EXAMPLE_OMPCC),)
EXAMPLES += heat triad
else
$(call example_left_out,heat and triad of examples/: no compiler with OpenMP)
endif

ifneq ($(call have,$(CXX)),)
EXAMPLES += melt
else
$(call example_left_out,melt of examples/: no C++ compiler $(CXX))
endif

ifneq ($(call have,$(MPICC)),)
EXAMPLES += heat_mpi
else
$(call example_left_out,heat_mpi of examples/: no $(MPICC); on Debian: apt install libopenmpi-dev)
endif

ifneq ($(call have,$(FC)),)
EXAMPLES += cg
else
$(call example_left_out,cg of examples/: no Fortran compiler $(FC))
endif

EXAMPLE_PROGRAMS := $(EXAMPLES:%=$(B)/examples/%)
DEMO_NEEDS += $(EXAMPLE_PROGRAMS)
CHECK_NEEDS += $(EXAMPLE_PROGRAMS)

$(B)/examples/heat $(B)/examples/triad: $(B)/examples/%: examples/%.c include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(EXAMPLE_OMPCC) -std=c11 $(EXAMPLE_FLAGS) -fopenmp -o $@ $< -lm

$(B)/examples/heat_mpi: examples/heat_mpi.c include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(MPICC) -std=c11 $(EXAMPLE_FLAGS) -o $@ $< -lm

$(B)/examples/melt: examples/melt.cc include/roimeter.h $(B)/flags
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(EXAMPLE_FLAGS) -o $@ $<

$(B)/examples/cg: examples/cg.f90 $(B)/libroimeter_f.a
	@mkdir -p $(@D)
	$(FC) -std=f2008 $(OPT) -Wall -Wextra -I$(B)/fortran -J$(@D) -o $@ $^

-include examples/probes/part.mk
