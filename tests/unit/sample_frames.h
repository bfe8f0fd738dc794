/* Frames as samples_take handed them out, kept to be looked at. */
#ifndef TESTS_SAMPLE_FRAMES_H
#define TESTS_SAMPLE_FRAMES_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/sample.h"

#define TAKEN_VALUES 400

struct taken_frame {
	char scope[300], run[40], exec[40];
	int64_t real_ns, mono_ns;
	size_t n;
	struct {
		char name[100];
		double value;
	} values[TAKEN_VALUES];
};

struct taken {
	struct taken_frame *frames;
	size_t n, cap, all; /* all: also those there was no room for */
};

static void taken_text(char *to, size_t room, struct str s)
{
	(void)snprintf(to, room, "%.*s", (int)s.n, s.p ? s.p : "");
}

static void taken_put(void *arg, const struct frame *f)
{
	struct taken *t = arg;
	t->all++;
	if (t->n == t->cap)
		return;
	struct taken_frame *to = &t->frames[t->n++];
	struct str list = f->as.context.values, name;
	double value;
	assert_int_equal(f->type, FRAME_CONTEXT);
	taken_text(to->scope, sizeof to->scope, f->as.context.scope);
	taken_text(to->run, sizeof to->run, f->as.context.run);
	taken_text(to->exec, sizeof to->exec, f->as.context.exec);
	to->real_ns = f->as.context.real_ns;
	to->mono_ns = f->as.context.mono_ns;
	to->n = 0;
	while (batch_pair_next(&list, &name, &value)) {
		assert_true(to->n < TAKEN_VALUES);
		taken_text(to->values[to->n].name, sizeof to->values[to->n].name, name);
		to->values[to->n++].value = value;
	}
	assert_int_equal(list.n, 0);
}

/* Take with room for so many frames; freed by the caller. */
static struct taken taken_at(struct samples *s, int64_t real_ns, uint64_t mono_ns, size_t room)
{
	struct taken t = { .cap = room, .frames = calloc(room, sizeof *t.frames) };
	assert_non_null(t.frames);
	struct sample_time now = { .real_ns = real_ns, .mono_ns = mono_ns };
	unsigned n = samples_take(s, now, taken_put, &t);
	assert_int_equal(n, t.all);
	return t;
}

static const struct taken_frame *taken_find(const struct taken *t, const char *scope)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->frames[i].scope, scope) == 0)
			return &t->frames[i];
	return NULL;
}

/* -1: the frame has no such name. */
static double taken_value(const struct taken *t, const char *scope, const char *name)
{
	const struct taken_frame *f = taken_find(t, scope);
	for (size_t i = 0; f && i < f->n; i++)
		if (strcmp(f->values[i].name, name) == 0)
			return f->values[i].value;
	return -1;
}

#endif
