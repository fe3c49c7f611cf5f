package schema

// Facts are properties of a normalized object, or of a part of it. Each fact means that one of upstream's checks would
// not find an error. A missing fact means nothing.
type Facts uint8

// The facts.
const (
	// Valid: validation by the schema accepts the value, also as an update of any other.
	Valid Facts = 1 << iota
	// Distinct: no set has a value twice, and no map-like list the same keys.
	Distinct
	// EmbeddedCanonical: reading the metadata of embedded resources and writing it back changes nothing.
	EmbeddedCanonical
	// EmbeddedValid: the embedded resources have an apiVersion, a kind and valid metadata.
	EmbeddedValid
	// Complete: no default is missing, and there is no forbidden null. A normalized object need not be complete: a
	// default may contain nulls, which are dropped when the object is normalized again.
	Complete
	// Pruned: no field is unknown.
	Pruned

	All = Valid | Distinct | EmbeddedCanonical | EmbeddedValid | Complete | Pruned
)

// Has reports whether all of the facts are among these.
func (f Facts) Has(facts Facts) bool { return f&facts == facts }

// Parts are the facts of the parts of a whole object. The status is apart because a write combines two objects: an
// update keeps the status of the current object, and an update of the status keeps the rest. Parts has no facts of the
// metadata, which each write changes, nor of the rules for the object as a whole: both are always checked again.
type Parts struct {
	Status Facts // of the value of status
	Rest   Facts // of the values of all fields except status and metadata
}

// factsOf returns the facts of a field of a whole object.
func (p Parts) factsOf(field string) Facts {
	switch field {
	case "status":
		return p.Status
	case "metadata":
		return 0
	}
	return p.Rest
}

// clear drops facts that do not hold for a field of a whole object.
func (p *Parts) clear(field string, facts Facts) {
	switch field {
	case "status":
		p.Status &^= facts
	case "metadata":
	default:
		p.Rest &^= facts
	}
}
