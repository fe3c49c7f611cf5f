// Package packages has a test of how many packages fakecluster imports, and which it must not.
package packages
