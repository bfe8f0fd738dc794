/* The C side of the Fortran module: the header's marks as functions.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "roimeter.h"

void roimeter_f_begin(void);
void roimeter_f_end(void);
void roimeter_f_begin_sync(void);
void roimeter_f_end_sync(void);
void roimeter_f_exclude_begin(void);
void roimeter_f_exclude_end(void);
void roimeter_f_exclude_begin_sync(void);
void roimeter_f_exclude_end_sync(void);
void roimeter_f_step(void);
void roimeter_f_phase_begin(const char *name, size_t length);
void roimeter_f_phase_end(void);

void roimeter_f_begin(void)
{
	ROIMETER_BEGIN();
}

void roimeter_f_end(void)
{
	ROIMETER_END();
}

void roimeter_f_begin_sync(void)
{
	ROIMETER_BEGIN_SYNC();
}

void roimeter_f_end_sync(void)
{
	ROIMETER_END_SYNC();
}

void roimeter_f_exclude_begin(void)
{
	ROIMETER_EXCLUDE_BEGIN();
}

void roimeter_f_exclude_end(void)
{
	ROIMETER_EXCLUDE_END();
}

void roimeter_f_exclude_begin_sync(void)
{
	ROIMETER_EXCLUDE_BEGIN_SYNC();
}

void roimeter_f_exclude_end_sync(void)
{
	ROIMETER_EXCLUDE_END_SYNC();
}

void roimeter_f_step(void)
{
	ROIMETER_STEP();
}

/* Fortran's texts have a length and no NUL. Longer names are cut by the library as well. */
void roimeter_f_phase_begin(const char *name, size_t length)
{
	char text[64];

	if (roimeter_gate_.state_ == ROIMETER_OFF_)
		return;
	if (length > sizeof text - 1)
		length = sizeof text - 1;
	memcpy(text, name, length);
	text[length] = 0;
	ROIMETER_PHASE_BEGIN(text);
}

void roimeter_f_phase_end(void)
{
	ROIMETER_PHASE_END();
}
