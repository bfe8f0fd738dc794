/* The marks for Python: a C extension on the stable ABI (3.11 and later), see docs/markers.md.
 * region(), exclude() and phase() answer context managers. Those of region and exclude have no
 * state of their own, so there is one of each kind and `with` makes nothing new.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdbool.h>

#include "roimeter.h"

static PyObject *sync_call;                /* a framework's own device wait, or NULL */
static PyObject *regions[2], *excludes[2]; /* without and with a wait for the device */
static PyTypeObject *region_type, *exclude_type, *phase_type;

/* For what has more to do than a mark, only while measuring. */
static bool measuring_now(void)
{
	if (roimeter_gate_.state_ == ROIMETER_UNKNOWN_)
		(void)roimeter_attach_();
	return roimeter_gate_.state_ == ROIMETER_ON_ && roimeter_gate_.api_->measuring_();
}

/* -1: the framework's function raised an exception. */
static int sync_now(void)
{
	if (!measuring_now())
		return 0;
	if (!sync_call) {
		PyThreadState *others = PyEval_SaveThread();
		roimeter_sync_();
		PyEval_RestoreThread(others);
		return 0;
	}
	PyObject *call = Py_NewRef(sync_call);
	PyObject *answer = PyObject_CallNoArgs(call);
	Py_DECREF(call);
	if (!answer)
		return -1;
	Py_DECREF(answer);
	return 0;
}

#define MARK(name, MACRO)                                                                          \
	static PyObject *name(PyObject *self, PyObject *none)                                      \
	{                                                                                          \
		(void)self;                                                                        \
		(void)none;                                                                        \
		MACRO();                                                                           \
		return Py_NewRef(Py_None);                                                         \
	}                                                                                          \
	static PyObject *name##_sync(PyObject *self, PyObject *none)                               \
	{                                                                                          \
		(void)self;                                                                        \
		(void)none;                                                                        \
		if (sync_now())                                                                    \
			return NULL;                                                               \
		MACRO();                                                                           \
		return Py_NewRef(Py_None);                                                         \
	}

MARK(begin, ROIMETER_BEGIN)
MARK(end, ROIMETER_END)
MARK(exclude_begin, ROIMETER_EXCLUDE_BEGIN)
MARK(exclude_end, ROIMETER_EXCLUDE_END)

static PyObject *step(PyObject *self, PyObject *none)
{
	(void)self;
	(void)none;
	ROIMETER_STEP();
	return Py_NewRef(Py_None);
}

static PyObject *phase_end(PyObject *self, PyObject *none)
{
	(void)self;
	(void)none;
	ROIMETER_PHASE_END();
	return Py_NewRef(Py_None);
}

static PyObject *phase_begin(PyObject *self, PyObject *name)
{
	(void)self;
	const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
	if (!text)
		return NULL;
	ROIMETER_PHASE_BEGIN(text);
	return Py_NewRef(Py_None);
}

static PyObject *measuring(PyObject *self, PyObject *none)
{
	(void)self;
	(void)none;
	return PyBool_FromLong(measuring_now());
}

static PyObject *set_sync(PyObject *self, PyObject *call)
{
	(void)self;
	if (call != Py_None && !PyCallable_Check(call)) {
		PyErr_SetString(PyExc_TypeError,
				"set_sync wants a function without arguments, or None");
		return NULL;
	}
	PyObject *old = sync_call;
	sync_call = call == Py_None ? NULL : Py_NewRef(call);
	Py_XDECREF(old);
	return Py_NewRef(Py_None);
}

/* ---- context managers ------------------------------------------------------------------------ */

struct manager {
	PyObject_HEAD int sync;
	PyObject *name; /* of a phase */
};

/* Whatever happened inside goes on: exceptions are not ours. */
#define MANAGER(kind, BEGIN, END)                                                                  \
	static PyObject *kind##_enter(PyObject *self, PyObject *none)                              \
	{                                                                                          \
		(void)none;                                                                        \
		if (((struct manager *)self)->sync && sync_now())                                  \
			return NULL;                                                               \
		BEGIN();                                                                           \
		return Py_NewRef(self);                                                            \
	}                                                                                          \
	static PyObject *kind##_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)          \
	{                                                                                          \
		(void)args;                                                                        \
		(void)n;                                                                           \
		int rc = ((struct manager *)self)->sync ? sync_now() : 0;                          \
		END(); /* also when waiting failed, or the region would stay open */               \
		if (rc)                                                                            \
			return NULL;                                                               \
		return Py_NewRef(Py_None);                                                         \
	}

MANAGER(region, ROIMETER_BEGIN, ROIMETER_END)
MANAGER(exclude, ROIMETER_EXCLUDE_BEGIN, ROIMETER_EXCLUDE_END)

static PyObject *phase_enter(PyObject *self, PyObject *none)
{
	PyObject *answer = phase_begin(NULL, ((struct manager *)self)->name);
	(void)none;
	if (!answer)
		return NULL;
	Py_DECREF(answer);
	return Py_NewRef(self);
}

static PyObject *phase_exit(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	(void)args;
	(void)n;
	return phase_end(self, NULL);
}

static void manager_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(((struct manager *)self)->name);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	release(self);
	Py_DECREF(type);
}

#define MANAGER_TYPE(kind, text)                                                                   \
	static PyMethodDef kind##_methods[] = {                                                    \
		{ "__enter__", kind##_enter, METH_NOARGS, NULL },                                  \
		{ "__exit__", (PyCFunction)(void (*)(void))kind##_exit, METH_FASTCALL, NULL },     \
		{ NULL, NULL, 0, NULL },                                                           \
	};                                                                                         \
	static PyType_Slot kind##_slots[] = {                                                      \
		{ Py_tp_methods, kind##_methods },                                                 \
		{ Py_tp_dealloc, manager_free },                                                   \
		{ Py_tp_doc, (void *)text },                                                       \
		{ 0, NULL },                                                                       \
	};                                                                                         \
	static PyType_Spec kind##_spec = { "roimeter." #kind "_manager", sizeof(struct manager),   \
					   0,                                                      \
					   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, \
					   kind##_slots }

MANAGER_TYPE(region, "The region of interest, for `with`.");
MANAGER_TYPE(exclude, "Time in the region that does not count, for `with`.");
MANAGER_TYPE(phase, "A named part of the region, for `with`.");

static PyObject *manager_new(PyTypeObject *type, int sync, PyObject *name)
{
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *self = alloc(type, 0);
	if (!self)
		return NULL;
	((struct manager *)self)->sync = sync;
	((struct manager *)self)->name = name ? Py_NewRef(name) : NULL;
	return self;
}

static PyObject *one_of(PyObject *both[2], PyObject *args, PyObject *named)
{
	static char name[] = "sync"; /* the interface is older than const */
	static char *names[] = { name, NULL };
	int sync = 0;
	if (!PyArg_ParseTupleAndKeywords(args, named, "|p", names, &sync))
		return NULL;
	return Py_NewRef(both[sync]);
}

static PyObject *region(PyObject *self, PyObject *args, PyObject *named)
{
	(void)self;
	return one_of(regions, args, named);
}

static PyObject *exclude(PyObject *self, PyObject *args, PyObject *named)
{
	(void)self;
	return one_of(excludes, args, named);
}

static PyObject *phase(PyObject *self, PyObject *name)
{
	(void)self;
	if (!PyUnicode_Check(name)) {
		PyErr_SetString(PyExc_TypeError, "the name of a phase is a str");
		return NULL;
	}
	return manager_new(phase_type, 0, name);
}

/* ---- the module ------------------------------------------------------------------------------ */

#define WITH_NAMES(call) (PyCFunction)(void (*)(void)) call, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
	{ "begin", begin, METH_NOARGS, "Begin the region of interest." },
	{ "end", end, METH_NOARGS, "End it." },
	{ "begin_sync", begin_sync, METH_NOARGS, "Wait for the device, then begin." },
	{ "end_sync", end_sync, METH_NOARGS, "Wait for the device, then end." },
	{ "exclude_begin", exclude_begin, METH_NOARGS, "What follows does not count." },
	{ "exclude_end", exclude_end, METH_NOARGS, "It counts again." },
	{ "exclude_begin_sync", exclude_begin_sync, METH_NOARGS, "Wait first." },
	{ "exclude_end_sync", exclude_end_sync, METH_NOARGS, "Wait first." },
	{ "step", step, METH_NOARGS, "One step of the work is done." },
	{ "phase_begin", phase_begin, METH_O, "A named part of the region begins." },
	{ "phase_end", phase_end, METH_NOARGS, "The last one that began ends." },
	{ "region", WITH_NAMES(region), "with region(sync=False): the region of interest" },
	{ "exclude", WITH_NAMES(exclude), "with exclude(sync=False): does not count" },
	{ "phase", phase, METH_O, "with phase(name): a named part" },
	{ "set_sync", set_sync, METH_O,
	  "What to call to wait for the device, only while measuring; None: CUDA or HIP itself." },
	{ "measuring", measuring, METH_NOARGS, "Are marks recorded?" },
	{ NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
	PyModuleDef_HEAD_INIT,
	"roimeter",
	"Marks for Roimeter: which part of a program is to be measured.",
	-1,
	functions,
	NULL,
	NULL,
	NULL,
	NULL
};

PyMODINIT_FUNC PyInit_roimeter(void);

PyMODINIT_FUNC PyInit_roimeter(void)
{
	region_type = (PyTypeObject *)PyType_FromSpec(&region_spec);
	exclude_type = (PyTypeObject *)PyType_FromSpec(&exclude_spec);
	phase_type = (PyTypeObject *)PyType_FromSpec(&phase_spec);
	if (!region_type || !exclude_type || !phase_type)
		return NULL;
	for (int sync = 0; sync < 2; sync++) {
		regions[sync] = manager_new(region_type, sync, NULL);
		excludes[sync] = manager_new(exclude_type, sync, NULL);
		if (!regions[sync] || !excludes[sync])
			return NULL;
	}
	return PyModule_Create(&module);
}
