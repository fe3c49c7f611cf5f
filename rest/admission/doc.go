// Package admission holds what may change or refuse a write beside validation.
package admission
