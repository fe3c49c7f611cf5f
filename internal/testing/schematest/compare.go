package schematest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/common"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/schema"
)

// Tally counts what the walks have found.
type Tally struct {
	// Objects is the number of compared objects. Pruning and defaulting would not have
	// changed Unchanged of them.
	Objects, Unchanged int
	// Found counts how often a walk found a fact, and True how often it holds by upstream.
	Found, True map[schema.Facts]int
}

// Facts are the facts that a Tally counts, with their names.
var Facts = map[schema.Facts]string{
	schema.Valid: "valid", schema.Distinct: "distinct",
	schema.EmbeddedCanonical: "embedded canonical", schema.EmbeddedValid: "embedded valid", schema.Complete: "complete",
	schema.Pruned: "pruned",
}

// NewTally makes an empty Tally.
func NewTally() *Tally { return &Tally{Found: map[schema.Facts]int{}, True: map[schema.Facts]int{}} }

func (t *Tally) String() string {
	text := fmt.Sprintf("%d objects, %d unchanged", t.Objects, t.Unchanged)
	for _, fact := range []schema.Facts{schema.Valid, schema.Distinct, schema.EmbeddedCanonical, schema.EmbeddedValid, schema.Complete, schema.Pruned} {
		text += fmt.Sprintf("; %s found for %d, true for %d", Facts[fact], t.Found[fact], t.True[fact])
	}
	return text
}

// Schema is a schema in the forms of the two sides.
type Schema struct {
	Node       *schema.Node
	Props      *apiextensions.JSONSchemaProps
	Structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

// NewSchema compiles a schema for both sides. It is nil if the schema has defaults that a
// definition could not have.
func NewSchema(t testing.TB, props *apiextensions.JSONSchemaProps) *Schema {
	t.Helper()
	s := &Schema{Props: props}
	var err error
	if s.Structural, err = structuralschema.NewStructural(props); err != nil {
		t.Fatal(err)
	}
	if defaulting.PruneDefaults(s.Structural) != nil {
		return nil
	}
	if s.validator, _, err = validation.NewSchemaValidator(props); err != nil {
		t.Fatal(err)
	}
	s.Node = schema.Compile(s.Structural, props)
	return s
}

func (s *Schema) String() string { return text(s.Props) }

// Compare compares walks over an object with upstream: as a new object, and as an update of
// another one.
func (s *Schema) Compare(t testing.TB, obj, former map[string]any, tally *Tally) {
	t.Helper()
	tally.Objects++
	parts := []schema.Action{0, schema.Prune, schema.DropNulls, schema.Default, schema.Prune | schema.DropNulls}
	s.compareFacts(t, s.normalize(t, obj, parts[tally.Objects%len(parts)], tally), nil, tally)
	s.compareFacts(t, s.normalize(t, obj, everything, tally), former, tally)
	if tally.Objects%3 == 0 {
		s.CompareVerified(t, obj, former)
	}
}

const everything = schema.Prune | schema.DropNulls | schema.Default

// normalize carries out the actions on an object, here and with upstream, and compares the
// results.
func (s *Schema) normalize(t testing.TB, obj map[string]any, actions schema.Action, tally *Tally) map[string]any {
	t.Helper()
	want, got := runtime.DeepCopyJSON(obj), runtime.DeepCopyJSON(obj)
	var unknown []string
	if actions&schema.Prune != 0 {
		unknown = pruning.PruneWithOptions(want, s.Structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	}
	if actions&schema.DropNulls != 0 {
		defaulting.PruneNonNullableNullsWithoutDefaults(want, s.Structural)
	}
	if actions&schema.Default != 0 {
		defaulting.Default(want, s.Structural)
	}
	found := s.Node.Normalize(got, schema.Walk{Do: actions, Check: schema.All, TrackUnknown: true})
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("actions %b make of\n%s\n(-upstream +here):\n%s\nschema:\n%s", actions, text(obj), cmp.Diff(want, got), s)
	}
	if !reflect.DeepEqual(unknown, found.Unknown) {
		t.Fatalf("actions %b find unknown in\n%s\n%v, upstream %v; schema:\n%s", actions, text(obj), found.Unknown, unknown, s)
	}
	if same := reflect.DeepEqual(obj, got); same == found.Changed {
		t.Fatalf("actions %b: changed is %v of\n%s\nwhich becomes\n%s\nschema:\n%s", actions, found.Changed, text(obj), text(got), s)
	}
	if actions == everything && !found.Changed {
		tally.Unchanged++
	}
	if after := s.facts(got, schema.All); found.Facts&lasting&^after != 0 {
		t.Fatalf("actions %b find the facts %b, but %b are so of\n%s\nschema:\n%s", actions, found.Facts, after, text(got), s)
	}
	return got
}

// compareFacts compares the facts of an object with upstream's results.
func (s *Schema) compareFacts(t testing.TB, obj, former map[string]any, tally *Tally) {
	t.Helper()
	found := s.facts(obj, schema.All)
	violations := map[schema.Facts]any{}
	if errs := s.Validate(obj); errs != nil {
		violations[schema.Valid] = errs
	} else if former != nil {
		correlation := common.NewCorrelatedObject(obj, former, &model.Structural{Structural: s.Structural})
		if errs := validation.ValidateCustomResourceUpdate(nil, obj, former, s.validator, validation.WithRatcheting(correlation)); len(errs) > 0 {
			t.Fatalf("valid as a new object, but not as an update: %v\n%s\nwas\n%s\nschema:\n%s", errs, text(obj), text(former), s)
		}
	}
	if errs := listtype.ValidateListSetsAndMaps(nil, s.Structural, obj); len(errs) > 0 {
		violations[schema.Distinct] = errs
	}
	for _, stored := range []bool{false, true} {
		filled := runtime.DeepCopyJSON(obj)
		err, unknown := objectmeta.CoerceWithOptions(nil, filled, s.Structural, false, objectmeta.CoerceOptions{DropInvalidFields: stored, ReturnUnknownFieldPaths: true})
		if err != nil || len(unknown) > 0 || !reflect.DeepEqual(filled, obj) {
			violations[schema.EmbeddedCanonical] = []any{err, unknown, filled}
		}
	}
	if errs := objectmeta.Validate(t.Context(), nil, obj, s.Structural, false); len(errs) > 0 {
		violations[schema.EmbeddedValid] = errs
	}
	filled := runtime.DeepCopyJSON(obj)
	defaulting.PruneNonNullableNullsWithoutDefaults(filled, s.Structural)
	if defaulting.Default(filled, s.Structural); !reflect.DeepEqual(filled, obj) {
		violations[schema.Complete] = cmp.Diff(obj, filled)
	}
	filled = runtime.DeepCopyJSON(obj)
	if pruning.Prune(filled, s.Structural, true); !reflect.DeepEqual(filled, obj) {
		violations[schema.Pruned] = cmp.Diff(obj, filled)
	}
	for fact, name := range Facts {
		if violations[fact] == nil {
			tally.True[fact]++
		}
		if !found.Has(fact) {
			continue
		}
		if tally.Found[fact]++; violations[fact] != nil {
			t.Fatalf("the walk found %s for\n%s\nbut upstream reports %v\nschema:\n%s", name, text(obj), violations[fact], s)
		}
	}
}

// facts returns the facts that a walk finds, which alters nothing.
func (s *Schema) facts(obj map[string]any, check schema.Facts) schema.Facts {
	return s.Node.Normalize(obj, schema.Walk{Check: check}).Facts
}

// Validate returns upstream's errors for a new object, or nil.
func (s *Schema) Validate(obj map[string]any) error {
	return validation.ValidateCustomResource(nil, obj, s.validator).ToAggregate()
}

func text(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
