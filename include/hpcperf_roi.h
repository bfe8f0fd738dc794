/* For programs that carry the marks of the HPCPerf suite: the same macro names, measured by
 * Roimeter, so that such a program needs no change. Put this folder first in the include path.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HPCPERF_ROI_H
#define HPCPERF_ROI_H

#include "roimeter.h"

#define HPCPERF_ROI_BEGIN() ROIMETER_BEGIN()
#define HPCPERF_ROI_END() ROIMETER_END()
#define HPCPERF_ROI_BEGIN_SYNC() ROIMETER_BEGIN_SYNC()
#define HPCPERF_ROI_END_SYNC() ROIMETER_END_SYNC()
#define HPCPERF_ROI_EXCLUDE_BEGIN() ROIMETER_EXCLUDE_BEGIN()
#define HPCPERF_ROI_EXCLUDE_BEGIN_SYNC() ROIMETER_EXCLUDE_BEGIN_SYNC()
#define HPCPERF_ROI_EXCLUDE_END() ROIMETER_EXCLUDE_END()

#endif
