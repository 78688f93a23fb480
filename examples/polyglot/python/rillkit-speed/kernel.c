/* rillkit_speed._kernel: the C core as a Python type. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "rill.h"

typedef struct {
    PyObject_HEAD
    rill rill;
} RillObject;

static PyObject *push(RillObject *self, PyObject *number)
{
    double x = PyFloat_AsDouble(number);

    if (x == -1.0 && PyErr_Occurred())
        return NULL;
    rill_push(&self->rill, x);
    Py_RETURN_NONE;
}

static PyObject *extend(RillObject *self, PyObject *numbers)
{
    PyObject *iterator = PyObject_GetIter(numbers);
    PyObject *number;

    if (iterator == NULL)
        return NULL;
    while ((number = PyIter_Next(iterator)) != NULL) {
        PyObject *done = push(self, number);

        Py_DECREF(number);
        if (done == NULL)
            break;
        Py_DECREF(done);
    }
    Py_DECREF(iterator);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *merge(RillObject *self, PyObject *other)
{
    if (!PyObject_TypeCheck(other, Py_TYPE(self)))
        return PyErr_Format(PyExc_TypeError, "cannot merge %R: expected a Rill", other);
    rill_merge(&self->rill, &((RillObject *)other)->rill);
    Py_RETURN_NONE;
}

static PyObject *variance(RillObject *self, void *Py_UNUSED(closure))
{
    return PyFloat_FromDouble(rill_variance(&self->rill));
}

static int init(RillObject *self, PyObject *args, PyObject *names)
{
    static char *known[] = {"numbers", NULL};
    PyObject *numbers = NULL;
    PyObject *done;

    if (!PyArg_ParseTupleAndKeywords(args, names, "|O:Rill", known, &numbers))
        return -1;
    rill_start(&self->rill);
    if (numbers == NULL)
        return 0;
    done = extend(self, numbers);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static void dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"push", (PyCFunction)(void (*)(void))push, METH_O, "Adds a number."},
    {"extend", (PyCFunction)(void (*)(void))extend, METH_O, "Adds every number of an iterable."},
    {"merge", (PyCFunction)(void (*)(void))merge, METH_O, "Makes this the summary of both streams."},
    {0},
};

static PyMemberDef members[] = {
    {"count", T_LONGLONG, offsetof(RillObject, rill.count), READONLY, "How many numbers came."},
    {"mean", T_DOUBLE, offsetof(RillObject, rill.mean), READONLY, "Their mean."},
    {"low", T_DOUBLE, offsetof(RillObject, rill.low), READONLY, "The lowest; inf while there is none."},
    {"high", T_DOUBLE, offsetof(RillObject, rill.high), READONLY, "The highest; -inf while there is none."},
    {0},
};

static PyGetSetDef computed[] = {
    {"variance", (getter)variance, NULL, "The sample variance; not a number below two values.", NULL},
    {0},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A running summary: five values, whatever the stream's length."},
    {Py_tp_init, init},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, computed},
    {0},
};

static PyType_Spec rill_type = {
    .name = "rillkit_speed.Rill",
    .basicsize = sizeof(RillObject),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static int add_types(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&rill_type);
    int failed;

    if (type == NULL)
        return -1;
    failed = PyModule_AddObjectRef(module, "Rill", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, add_types}, {0}};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rillkit_speed._kernel",
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&module);
}
