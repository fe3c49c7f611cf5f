package schema

import "errors"

// MaxDefaults is the maximum of bytes of defaults that one walk fills in. Larger objects cannot be stored. Without a
// limit a small object could become huge: a list of a million empty items takes 3 MB, and each item may lack a default
// of 100 KB.
const MaxDefaults = 16 << 20

// ErrTooManyDefaults is the error of an object that lacks more than MaxDefaults bytes of defaults.
var ErrTooManyDefaults = errors.New("the defaults that the object lacks are larger than 16 MiB")

// Err returns ErrTooManyDefaults if the walk stopped filling in defaults.
func (s Result) Err() error {
	if s.TooManyDefaults {
		return ErrTooManyDefaults
	}
	return nil
}

// mayFill reports whether there is room for the default of a field or an item, and counts its
// size.
func (w *walker) mayFill(name string, n *Node) bool {
	if w.filled > MaxDefaults {
		return false
	}
	w.filled += len(name) + n.defaultSize
	return w.filled <= MaxDefaults
}

// sizeOf estimates how many bytes of JSON a value has.
func sizeOf(value any) int {
	const mark = 4 // quotes, commas, colons
	size := mark
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, item := range value {
			size += sizeOf(item)
		}
	case map[string]any:
		for name, field := range value {
			size += len(name) + sizeOf(field)
		}
	}
	return size
}
