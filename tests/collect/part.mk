# Collectors for the tests of roimeter run: they watch nothing, and leave the picture that they are told
# to. Never installed. As with every library for other programs, no sanitizer is in them.
FAKE_PARTS := lib/arena.c lib/buf.c lib/err.c lib/num.c schema/codec_bytes.c schema/codec_ops.c \
	schema/framed.c schema/picture.c schema/record.c schema/utf8.c schema/wire.c
fake = @mkdir -p $(@D); $(CC) $(filter-out $(SANFLAGS),$(CPPFLAGS) $(CFLAGS)) $(1) -shared -o $@ \
	tests/collect/fake.c $(FAKE_PARTS) -lxxhash -lm -ldl

$(B)/tests/collect/libroimeter-fake.so: tests/collect/fake.c $(FAKE_PARTS) schema/picture.h \
		collectors/collector.h $(B)/flags
	$(call fake)
$(B)/tests/collect/libroimeter-other.so: tests/collect/fake.c $(FAKE_PARTS) schema/picture.h \
		collectors/collector.h $(B)/flags
	$(call fake,-DFAKE_NAME='"other"')
$(B)/tests/collect/libroimeter-old.so: tests/collect/fake.c $(FAKE_PARTS) schema/picture.h \
		collectors/collector.h $(B)/flags
	$(call fake,-DFAKE_NAME='"old"' -DFAKE_ABI=0)
CHECK_NEEDS += $(addprefix $(B)/tests/collect/libroimeter-,fake.so other.so old.so)
