package state

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Difference is one difference between two states.
type Difference struct {
	// Object is the name of the object, and Path the field, in which every index of a list is an
	// asterisk: /spec/containers/*/image. The path is empty if one of the states does not have the object.
	Object, Path string
	// Missing is set if the second state does not have the object or the field, and Added if the first
	// does not.
	Missing, Added bool
}

// String names the difference, such as "websites.example.com default/home: /spec/replicas".
func (d Difference) String() string {
	switch {
	case d.Path != "":
		return d.Object + ": " + d.Path
	case d.Missing:
		return d.Object + " is missing"
	}
	return d.Object + " exists"
}

// Mask is differences that do not count, because they also are between two clusters with the same history.
type Mask map[Difference]bool

// Differences returns where two states differ, without those of the mask, in the order of the names.
func Differences(want, got State, mask Mask) (found []Difference) {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		w, wanted := want[name]
		g, exists := got[name]
		switch {
		case !exists:
			found = append(found, Difference{Object: name, Missing: true})
		case !wanted:
			found = append(found, Difference{Object: name, Added: true})
		default:
			compare(name, "", w, g, &found)
		}
	}
	return slices.DeleteFunc(found, func(d Difference) bool { return mask.has(d) })
}

// has reports whether the mask has a difference, or one of a field above it.
func (m Mask) has(d Difference) bool {
	for path := d.Path; ; path = path[:strings.LastIndex(path, "/")] {
		for _, masked := range []Difference{{d.Object, path, false, false}, {d.Object, path, true, false}, {d.Object, path, false, true}} {
			if m[masked] {
				return true
			}
		}
		if path == "" {
			return false
		}
	}
}

// Add adds differences to the mask.
func (m Mask) Add(differences []Difference) {
	for _, d := range differences {
		m[d] = true
	}
}

func compare(name, path string, want, got any, found *[]Difference) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		keys := map[string]bool{}
		for key := range w {
			keys[key] = true
		}
		for key := range g {
			keys[key] = true
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			below := path + "/" + key
			a, wanted := w[key]
			b, exists := g[key]
			switch {
			case !exists:
				*found = append(*found, Difference{Object: name, Path: below, Missing: true})
			case !wanted:
				*found = append(*found, Difference{Object: name, Path: below, Added: true})
			default:
				compare(name, below, a, b, found)
			}
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			compare(name, path+"/*", w[i], g[i], found)
		}
		return
	}
	if w, g := fmt.Sprint(want), fmt.Sprint(got); !reflect.DeepEqual(want, got) && w != g && !SameInOtherUnit(w, g) {
		*found = append(*found, Difference{Object: name, Path: path})
	}
}

// Field is a field of an object, and its value.
type Field struct {
	// Path is a JSON pointer.
	Path  string
	Value any
}

// Changed returns the fields that have another value in the second object, with this value. Fields that only one of them has are left
// out.
func Changed(before, after map[string]any) (fields []Field) {
	changed("", before, after, &fields)
	return fields
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func changed(path string, before, after any, fields *[]Field) {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(b)) {
			if value, ok := a[key]; ok {
				changed(path+"/"+escape.Replace(key), b[key], value, fields)
			}
		}
	case []any:
		a, _ := after.([]any)
		for i := range min(len(a), len(b)) {
			changed(fmt.Sprintf("%s/%d", path, i), b[i], a[i], fields)
		}
	default:
		if !reflect.DeepEqual(before, after) && reflect.TypeOf(before) == reflect.TypeOf(after) {
			*fields = append(*fields, Field{path, after})
		}
	}
}
