/* Of everything that is built from this tree. */
#ifndef LIB_VERSION_H
#define LIB_VERSION_H

#define ROIMETER_VERSION_TEXT "0.1.0"

#endif
