package schema

// Facts are what is known of a settled object, or of a part of it. Each fact says that a
// check of upstream's would find no error. A missing fact says nothing.
type Facts uint8

// The facts.
const (
	// Valid says that validation by the schema accepts the value, also as an update of
	// any other.
	Valid Facts = 1 << iota
	// Distinct says that no set has the same value twice, and no map-like list the same
	// keys.
	Distinct
	// EmbeddedCanonical says that reading the metadata of embedded resources and
	// writing it back changes nothing.
	EmbeddedCanonical
	// EmbeddedValid says that the embedded resources have an apiVersion, a kind and
	// valid metadata.
	EmbeddedValid
	// Complete says that no default is missing, and that there is no forbidden null. A
	// settled object need not be complete: a default may contain nulls, which are dropped
	// when the object is settled the next time.
	Complete

	All = Valid | Distinct | EmbeddedCanonical | EmbeddedValid | Complete
)

// Has tells whether all of the facts are among these.
func (f Facts) Has(facts Facts) bool { return f&facts == facts }

// Parts are what is known of the parts of a whole object. The status is apart because a
// write combines two objects: an update keeps the status of the current object, and an
// update of the status keeps all the rest. Parts has no facts of the metadata, which each
// write changes, and none of the rules for the object as a whole: both are always checked
// again.
type Parts struct {
	Status Facts // of the value of status
	Rest   Facts // of the values of all fields but status and metadata
}

// of returns the facts of a field of a whole object.
func (p Parts) of(field string) Facts {
	switch field {
	case "status":
		return p.Status
	case "metadata":
		return 0
	}
	return p.Rest
}

// lose drops facts that do not hold for a field of a whole object.
func (p *Parts) clear(field string, facts Facts) {
	switch field {
	case "status":
		p.Status &^= facts
	case "metadata":
	default:
		p.Rest &^= facts
	}
}
