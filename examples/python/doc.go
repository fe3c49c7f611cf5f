// Package python has a client of fakecluster host in Python, fakecluster.py, and tests that use it, test_crontabs.py.
package python
