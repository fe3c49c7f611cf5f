package flowcontrol

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/tidwall/gjson"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/fakecluster/fakecluster/internal/cache"
	"github.com/fakecluster/fakecluster/store"
)

// Schemas are the FlowSchemas of a cluster. They are safe for concurrent use.
type Schemas struct {
	store           *store.Store
	schemas, levels string // what the store keys of the objects begin with
	counts          counts

	current atomic.Pointer[index]
	changed atomic.Int64 // the revision of the newest change that was reported
}

// index holds the FlowSchemas and levels of the store at a revision.
type index struct {
	revision int64
	schemas  []*Schema // in the order in which they are tried
	catchAll *Schema
	levels   map[string]level
}

// Schema is a FlowSchema that requests can match.
type Schema struct {
	Name, Level string
	// UID and LevelUID are those of the objects; empty for one without an object.
	UID, LevelUID string

	exempt bool // the level limits nothing
	spec   *flowcontrolv1.FlowSchemaSpec
	counts *counted
}

// level is a PriorityLevelConfiguration.
type level struct {
	uid  string
	spec *flowcontrolv1.PriorityLevelConfigurationSpec
}

// New returns the FlowSchemas of a store. Their keys begin with schemas, and those of PriorityLevelConfigurations with levels.
func New(s *store.Store, schemas, levels string) *Schemas {
	return &Schemas{store: s, schemas: schemas, levels: levels}
}

// Changed reports that a FlowSchema or a PriorityLevelConfiguration has changed at a revision. It must be called
// after each such commit, before its request is answered.
func (s *Schemas) Changed(revision int64) {
	for seen := s.changed.Load(); seen < revision && !s.changed.CompareAndSwap(seen, revision); seen = s.changed.Load() {
	}
}

// Match returns the FlowSchema that a request matches first.
func (s *Schemas) Match(info *apirequest.RequestInfo, by user.Info) (*Schema, error) {
	now, err := s.load()
	if err != nil {
		return nil, err
	}
	for _, schema := range now.schemas {
		if matches(schema.spec, info, by) {
			return schema, nil
		}
	}
	return now.catchAll, nil
}

// load returns an index that has all changes that were reported before the call.
func (s *Schemas) load() (*index, error) {
	former := s.current.Load()
	if former != nil && former.revision >= s.changed.Load() {
		return former, nil
	}
	now, err := s.read()
	if err == nil {
		s.current.CompareAndSwap(former, now)
	}
	return now, err
}

// read reads the index. Its revision is that of the first list: what has changed since is read again.
func (s *Schemas) read() (*index, error) {
	schemas, err := s.store.List(s.schemas, store.ListOptions{})
	if err != nil {
		return nil, err
	}
	levels, err := s.store.List(s.levels, store.ListOptions{})
	if err != nil {
		return nil, err
	}
	next := &index{revision: schemas.Revision, levels: map[string]level{}}
	for _, record := range levels.Records {
		spec, err := decoded(levelSpecs, record)
		if err != nil {
			return nil, err
		}
		next.levels[record.Key[len(s.levels):]] = level{gjson.Get(record.Value, "metadata.uid").Str, spec}
	}
	for _, record := range schemas.Records {
		spec, err := decoded(schemaSpecs, record)
		if err != nil {
			return nil, err
		}
		next.add(record.Key[len(s.schemas):], gjson.Get(record.Value, "metadata.uid").Str, spec)
	}
	slices.SortFunc(next.schemas, func(a, b *Schema) int {
		return cmp.Or(cmp.Compare(a.spec.MatchingPrecedence, b.spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
	next.addMandatory()
	for _, schema := range next.schemas {
		schema.counts = s.counts.countedFor(schema.Level, schema.Name)
	}
	return next, nil
}

// add adds a FlowSchema, unless its level does not exist.
func (i *index) add(name, uid string, spec *flowcontrolv1.FlowSchemaSpec) *Schema {
	level, ok := i.levels[spec.PriorityLevelConfiguration.Name]
	if !ok {
		return nil
	}
	schema := &Schema{
		Name: name, Level: spec.PriorityLevelConfiguration.Name, UID: uid, LevelUID: level.uid,
		exempt: level.spec.Type == flowcontrolv1.PriorityLevelEnablementExempt, spec: spec,
	}
	i.schemas = append(i.schemas, schema)
	if name == flowcontrolv1.FlowSchemaNameCatchAll {
		i.catchAll = schema
	}
	return schema
}

// addMandatory adds the FlowSchemas that every server has: exempt at the beginning, and catch-all at the end.
func (i *index) addMandatory() {
	hasExempt := slices.ContainsFunc(i.schemas, func(s *Schema) bool { return s.Name == flowcontrolv1.FlowSchemaNameExempt })
	for _, pl := range bootstrap.MandatoryPriorityLevelConfigurations {
		if _, ok := i.levels[pl.Name]; !ok {
			i.levels[pl.Name] = level{"", &pl.Spec}
		}
	}
	if i.catchAll == nil {
		i.add(flowcontrolv1.FlowSchemaNameCatchAll, "", &bootstrap.MandatoryFlowSchemaCatchAll.Spec)
	}
	if !hasExempt {
		first := i.add(flowcontrolv1.FlowSchemaNameExempt, "", &bootstrap.MandatoryFlowSchemaExempt.Spec)
		i.schemas = slices.Insert(i.schemas[:len(i.schemas)-1], 0, first)
	}
}

// The decoded specs, by their text. Most clusters have only those of the initial objects.
var (
	schemaSpecs = cache.New[string, *flowcontrolv1.FlowSchemaSpec](256)
	levelSpecs  = cache.New[string, *flowcontrolv1.PriorityLevelConfigurationSpec](256)
)

// decoded returns the spec of an object. Callers must not alter it.
func decoded[T any](specs *cache.Cache[string, *T], record store.Record) (*T, error) {
	text := gjson.Get(record.Value, "spec").Raw
	if spec, ok := specs.Get(text); ok {
		return spec, nil
	}
	spec := new(T)
	if err := json.Unmarshal([]byte(text), spec); err != nil {
		return nil, err
	}
	return specs.Put(string([]byte(text)), spec, 1), nil // a key of its own, so that the record is not kept
}
