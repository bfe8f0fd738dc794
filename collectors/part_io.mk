# The collector `io`, preloaded: it has functions of libc by their names. What its own parts call of these
# goes past them, by way of io_own.c.
IO_OWN := $(shell sed -n 's/^OWN.[^,]*, *\([a-z_0-9]*\),.*/\1/p' collectors/io_own.c 2>/dev/null) syscall

IO_LINK = $(addprefix -Wl$(comma)--wrap=,$(IO_OWN)) -Wl,-Bsymbolic -Wl,--version-script=collectors/io.map

$(B)/libroimeter-io.so: $(patsubst %.c,$(B)/guest/%.o,$(wildcard collectors/io.c collectors/io_*.c)) $(B)/guest.a
	$(COLLECTOR_LINK) $(IO_LINK) -o $@ $^ -lpthread -ldl -lm
ALL += $(B)/libroimeter-io.so
COLLECTOR_LIBRARIES += $(B)/libroimeter-io.so

# The same with a taker that writes down what it is told, for tests/system/io.
IO_ALONE := $(patsubst %.c,$(B)/guest/%.o,$(filter-out collectors/io_counter% collectors/io_capture%, \
	$(wildcard collectors/io.c collectors/io_*.c)))
$(B)/tests/tools/libio-alone.so: $(IO_ALONE) $(B)/guest/tests/tools/io_taker.o $(B)/guest.a
	@mkdir -p $(@D)
	$(COLLECTOR_LINK) $(IO_LINK) -o $@ $^ -lpthread -ldl -lm
CHECK_NEEDS += $(B)/tests/tools/libio-alone.so

# What in it is logic without an MPI; the rest is doubles of the tests'.
IO_MPI_OBJS := $(addprefix $(B)/collectors/io_mpi_,text.o wait.o time.o facts.o)
.SECONDARY: $(IO_MPI_OBJS)
$(B)/tests/unit/io_mpi: $(filter-out %facts.o,$(IO_MPI_OBJS))
$(B)/tests/unit/io_mpi_facts: $(filter %facts.o,$(IO_MPI_OBJS))
$(B)/tests/unit/io_mpi $(B)/tests/unit/io_mpi_facts: %: %.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS) -lcmocka -ldl

# Programs of users, so never with a sanitizer.
IO_PROGRAMS := $(patsubst tests/fixtures/io/%.c,$(B)/tests/tools/io_%,$(wildcard tests/fixtures/io/*.c))
$(IO_PROGRAMS): $(B)/tests/tools/io_%: tests/fixtures/io/%.c include/roimeter.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -Iinclude -Wall -Wextra -o $@ $< $(IO_LIBRARIES) -lpthread -ldl
$(B)/tests/tools/io_calls_async: IO_LIBRARIES := $(addprefix -l,$(shell echo 'int main;' | $(CC) \
	-include libaio.h -include liburing.h -E -x c - >/dev/null 2>&1 && echo aio uring))
CHECK_NEEDS += $(IO_PROGRAMS)

# What the counter left, as text.
$(B)/tests/tools/iopicture: $(B)/tests/tools/iopicture.o $(B)/parts.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
CHECK_NEEDS += $(B)/tests/tools/iopicture
