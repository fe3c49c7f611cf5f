package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// storageMigrating is the type of the condition of a definition whose objects are being migrated to its storage version.
const storageMigrating = apiextensions.CustomResourceDefinitionConditionType(apiextensionsv1.StorageMigrating)

var migrations = kind{storagemigrationv1.GroupName, "storageversionmigrations"}

// resourceKey is the task of a key for a resource whose migrations begin or continue. The name is that of a
// CustomResourceDefinition for the resource.
const resourceKey = "resource"

// storageVersionMigrator carries out StorageVersionMigrations: it writes each object of a resource unchanged, which
// stores it in the storage version.
func storageVersionMigrator() *controller {
	return &controller{
		identity: ServiceAccount("storage-version-migrator-controller"),
		follows: []followed{
			{kind: definitions, concerns: func(s *step, c change) error {
				if c.Deleted {
					return nil
				}
				if isMigrating(c.Previous.Value) && isMigrating(c.Record.Value) {
					s.enqueue(key{task: resourceKey, name: c.Name})
				}
				s.enqueue(s.scheduled()...) // they wait for a definition
				return nil
			}},
			{kind: migrations, concerns: followMigration},
		},
		resume: func(s *step, _ int64) error {
			v, err := s.version(migrations)
			if err != nil {
				return err
			}
			records, err := s.records(v.Resource, "")
			for _, m := range records {
				s.enqueue(key{name: v.Resource.NameOf(m.Key)})
			}
			return err
		},
		sync: func(s *step, k key) error {
			if k.task == resourceKey {
				return enqueueMigrations(s, k.name)
			}
			return migrate(s, k.name)
		},
	}
}

// isMigrating reports whether a definition waits for the end of a migration. Few do, and definitions can be large, so it
// searches the text before it parses it.
func isMigrating(definition string) bool {
	return strings.Contains(definition, string(storageMigrating)) && gjson.Get(definition, `status.conditions.#(type=="`+string(storageMigrating)+`").status`).Str == string(metav1.ConditionTrue)
}

// missingFor is how long after its creation a migration waits for a resource that does not exist.
const missingFor = time.Minute

// migrate carries out a migration. On a real server three controllers do this together
// (pkg/controller/storageversionmigrator), and each waits for the status that the others write. So a watch sees each
// state: running, its revision, the result, and no longer running.
//
// One migration of a resource runs at a time; see turn. If its resource does not exist, it fails after a minute by an
// alarm, unless a definition of the resource is created before. After a temporary error of a write the migration
// continues to run, and the next write of the migration or of the definition tries again.
func migrate(s *step, name string) error {
	registry, err := s.server.Registry()
	if err != nil {
		return err
	}
	m, err := copyOf[*storagemigrationv1.StorageVersionMigration](s, migrations, "", name)
	if err != nil || isOver(m) && !isRunning(m) {
		return err
	}
	// update writes the changed status, and reads the migration again.
	update := func() error {
		if err := s.update(migrations, m, "status"); err != nil {
			return err
		}
		m, err = copyOf[*storagemigrationv1.StorageVersionMigration](s, migrations, "", name)
		return err
	}
	definition := definitionOf(m.Spec.Resource)
	if !isRunning(m) {
		if next, err := turn(s, m); err != nil || !next {
			return err
		}
		if err := markMigrating(s, definition, name); err != nil {
			return err
		}
		running(s, m, progress{}, nil)
		if err := update(); err != nil {
			return err
		}
		if registry, err = s.server.Registry(); err != nil { // the definition has changed
			return err
		}
	}
	until, now := m.CreationTimestamp.Add(missingFor), s.now()
	if !isOver(m) && now.Before(until) && registry.Resource(m.Spec.Resource.Group, m.Spec.Resource.Resource) == nil {
		s.syncAgainBy(until)
		return nil
	}
	if m.Status.ResourceVersion == "" && !isOver(m) {
		if refusal := unmigratable(registry, m.Spec.Resource); refusal != "" {
			condition(s, m, storagemigrationv1.MigrationFailed, metav1.ConditionTrue, failedReason, refusal)
		} else {
			m.Status.ResourceVersion = strconv.FormatInt(s.server.Records.Revision(), 10)
		}
		if err := update(); err != nil {
			return err
		}
	}
	if res := registry.Resource(m.Spec.Resource.Group, m.Spec.Resource.Resource); !isOver(m) && res != nil && s.ignored(res.Prefix) {
		return nil // as upstream, it never ends: it waits until the garbage collector has listed the resource
	}
	if !isOver(m) {
		done, failure := rewriteAll(s, registry, m)
		if failure != nil && mayPass(failure) {
			running(s, m, done, failure)
			return errors.Join(failure, update())
		}
		running(s, m, done, nil)
		if failure == nil {
			condition(s, m, storagemigrationv1.MigrationSucceeded, metav1.ConditionTrue, "StorageVersionMigrationSucceeded", "Migration completed")
		} else {
			failed(s, m, done, failure)
		}
		if err := update(); err != nil {
			return err
		}
	}
	if err := markMigrated(s, definition, meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationSucceeded))); err != nil {
		return err
	}
	condition(s, m, storagemigrationv1.MigrationRunning, metav1.ConditionFalse, "MigrationCompleted", "Migration completed")
	return s.update(migrations, m, "status")
}

// definitionOf returns the name of the CustomResourceDefinition of a resource, if it has one.
func definitionOf(resource metav1.GroupResource) string {
	return resource.Resource + "." + resource.Group
}

// turn reports whether a migration may begin: no other migration of its resource runs, and those that have not begun are
// younger, or of the same age with a later name.
func turn(s *step, m *storagemigrationv1.StorageVersionMigration) (bool, error) {
	v, err := s.version(migrations)
	if err != nil {
		return false, err
	}
	res := v.Resource
	records, err := s.records(res, "")
	if err != nil {
		return false, err
	}
	for _, record := range records {
		migrating := gjson.Get(record.Value, "spec.resource")
		other := res.NameOf(record.Key)
		if other == m.Name || migrating.Get("resource").Str != m.Spec.Resource.Resource || migrating.Get("group").Str != m.Spec.Resource.Group {
			continue
		}
		holds := func(c storagemigrationv1.MigrationConditionType) bool {
			return gjson.Get(record.Value, `status.conditions.#(type=="`+string(c)+`").status`).Str == string(metav1.ConditionTrue)
		}
		over := holds(storagemigrationv1.MigrationSucceeded) || holds(storagemigrationv1.MigrationFailed)
		created := gjson.Get(record.Value, "metadata.creationTimestamp").Time()
		first := created.Before(m.CreationTimestamp.Time) || created.Equal(m.CreationTimestamp.Time) && other < m.Name
		if !over && (holds(storagemigrationv1.MigrationRunning) || first) {
			return false, nil
		}
	}
	return true, nil
}

// followMigration enqueues a changed migration. If it has ended, it enqueues the next one of the resource.
func followMigration(s *step, c change) error {
	running := `status.conditions.#(type=="` + string(storagemigrationv1.MigrationRunning) + `").status`
	isTrue := func(value string) bool { return gjson.Get(value, running).Str == string(metav1.ConditionTrue) }
	if !c.Deleted {
		s.enqueue(c.key())
	}
	if c.Deleted || isTrue(c.Previous.Value) && !isTrue(c.Record.Value) {
		migrated := gjson.Get(c.Record.Value, "spec.resource")
		s.enqueue(key{task: resourceKey, name: definitionOf(metav1.GroupResource{Group: migrated.Get("group").Str, Resource: migrated.Get("resource").Str})})
	}
	return nil
}

// verbsOfMigration are the verbs that a resource must support to be migrated.
var verbsOfMigration = []string{"update", "patch", "list"}

// unmigratable returns why a resource cannot be migrated; empty: it can be.
func unmigratable(registry *resource.Registry, migrated metav1.GroupResource) string {
	group, res := registry.Group(migrated.Group), registry.Resource(migrated.Group, migrated.Resource)
	if group == nil || res == nil {
		return "resource does not exist in discovery"
	}
	if slices.ContainsFunc(verbsOfMigration, func(verb string) bool { return !slices.Contains(res.Verbs, verb) }) {
		for _, version := range group.Versions { // the preferred one first
			if v := group.Published(res, version); v != nil {
				return fmt.Sprintf("resource %q does not support discovery operations: %v", v.GroupVersionResource().String(), verbsOfMigration)
			}
		}
	}
	return ""
}

// failedReason is the reason of the condition of a failed migration.
const failedReason = "StorageVersionMigrationFailed"

// errNoResource is the error if a resource is removed during its migration.
var errNoResource = errors.New("unable to obtain GVR from discovery")

// progress is the progress of a migration: the number of objects that are left, and of all objects.
type progress struct{ left, total int }

// rewriteAll rewrites all objects that are older than the migration.
func rewriteAll(s *step, registry *resource.Registry, m *storagemigrationv1.StorageVersionMigration) (progress, error) {
	res := registry.Resource(m.Spec.Resource.Group, m.Spec.Resource.Resource)
	if res == nil {
		return progress{}, errNoResource
	}
	records, err := s.records(res, "")
	if err != nil {
		return progress{}, err
	}
	upTo, err := strconv.ParseInt(m.Status.ResourceVersion, 10, 64)
	if err != nil {
		return progress{}, err
	}
	done := progress{total: len(records)}
	// Newer objects are already in the storage version.
	records = slices.DeleteFunc(records, func(record store.Record) bool { return record.Revision > upTo })
	for done.left = len(records); done.left > 0; done.left-- {
		// An object that another client has written or deleted needs no migration.
		err := rewrite(s, res, records[len(records)-done.left])
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return done, err
		}
	}
	return done, nil
}

// rewrite writes an object unchanged, which stores it in the storage version. It fails with a Conflict if the object has
// changed since the record.
func rewrite(s *step, res *resource.Resource, record store.Record) error {
	v := s.controller.identity.Version(res)
	apiVersion, kind := v.Kind().ToAPIVersionAndKind()
	body, err := json.Marshal(map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]string{"resourceVersion": strconv.FormatInt(record.Revision, 10)},
	})
	if err != nil {
		return err
	}
	return s.write("patch", v, res.NamespaceOf(record.Key), res.NameOf(record.Key), write.Request{
		Manager: "storage-version-migrator-controller",
		Change:  write.Patch{Type: types.MergePatchType, Body: body, Validation: metav1.FieldValidationIgnore},
	})
}

// running sets the condition of a running migration, with its progress and its last temporary error.
func running(s *step, m *storagemigrationv1.StorageVersionMigration, done progress, again error) {
	message := "The migration is running"
	switch {
	case done.left > 0:
		message += fmt.Sprintf(", %d/%d objects not yet migrated", done.left, done.total)
	case done.total > 0:
		message += fmt.Sprintf(", %d objects verified migrated", done.total)
	}
	if again != nil {
		message += fmt.Sprintf("; transient error: %v", again)
	}
	condition(s, m, storagemigrationv1.MigrationRunning, metav1.ConditionTrue, "MigrationRunning", message)
}

// failed sets the condition of a failed migration.
func failed(s *step, m *storagemigrationv1.StorageVersionMigration, done progress, why error) {
	message := fmt.Sprintf("migration encountered unhandled error: %v", why)
	if done.left > 0 {
		message = fmt.Sprintf("%d/%d not yet migrated. ", done.left, done.total) + message
	}
	condition(s, m, storagemigrationv1.MigrationFailed, metav1.ConditionTrue, failedReason, message)
}

// mayPass reports whether a real server retries after an error. An error without a Status, such as that of a conversion
// webhook, is an InternalError for the real controller.
func mayPass(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return !errors.Is(err, errNoResource)
	}
	return apierrors.IsInternalError(err) || apierrors.IsServerTimeout(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err)
}

// enqueueMigrations enqueues the migrations of a resource, given the name of its CustomResourceDefinition.
func enqueueMigrations(s *step, definition string) error {
	v, err := s.version(migrations)
	if err != nil {
		return err
	}
	records, err := s.records(v.Resource, "")
	for _, record := range records {
		migrated := gjson.Get(record.Value, "spec.resource")
		if definitionOf(metav1.GroupResource{Group: migrated.Get("group").Str, Resource: migrated.Get("resource").Str}) == definition {
			s.enqueue(key{name: v.Resource.NameOf(record.Key)})
		}
	}
	return err
}

func isRunning(m *storagemigrationv1.StorageVersionMigration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationRunning))
}

func isOver(m *storagemigrationv1.StorageVersionMigration) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationSucceeded)) ||
		meta.IsStatusConditionTrue(m.Status.Conditions, string(storagemigrationv1.MigrationFailed))
}

func condition(s *step, m *storagemigrationv1.StorageVersionMigration, c storagemigrationv1.MigrationConditionType, value metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{
		Type: string(c), Status: value, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(s.now()),
	})
}

// migrationManager is the field manager of migrations in the status of a definition.
const migrationManager = "migration-runner-controller"

// markMigrating sets the condition of the resource's definition, if it has one, for a running migration.
func markMigrating(s *step, name, migration string) error {
	return mark(s, name, func(*apiextensions.CustomResourceDefinition) (apiextensions.CustomResourceDefinitionCondition, []any) {
		return apiextensions.CustomResourceDefinitionCondition{
			Status: apiextensions.ConditionTrue, Reason: "MigrationRunning", Message: fmt.Sprintf("Migration %s is running", migration),
		}, nil
	})
}

// markMigrated sets the condition for a migration that has ended. If the definition has not changed meanwhile, it sets
// status.storedVersions to the storage version, even if the migration has failed.
func markMigrated(s *step, name string, succeeded bool) error {
	return mark(s, name, func(definition *apiextensions.CustomResourceDefinition) (apiextensions.CustomResourceDefinitionCondition, []any) {
		running := apiextensions.FindCRDCondition(definition, storageMigrating)
		isSame := running != nil && running.ObservedGeneration == definition.Generation
		c := apiextensions.CustomResourceDefinitionCondition{Status: apiextensions.ConditionFalse}
		switch {
		case !succeeded:
			c.Reason, c.Message = "MigrationFailed", "The migration has failed"
		case isSame:
			c.Reason, c.Message = "MigrationSucceeded", "The migration has succeeded and the stored versions have been updated"
		default:
			c.Reason, c.Message = "MigrationSucceeded", "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
		}
		if !isSame {
			return c, nil
		}
		var stored []any
		for _, v := range definition.Spec.Versions {
			if v.Storage {
				stored = append(stored, v.Name)
			}
		}
		return c, stored
	})
}

// mark applies the condition of a definition and, if there are any, its storedVersions. It does nothing if the
// definition does not exist.
func mark(s *step, name string,
	wanted func(*apiextensions.CustomResourceDefinition) (c apiextensions.CustomResourceDefinitionCondition, stored []any)) error {
	definition, err := s.definition(name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	c, stored := wanted(definition)
	c.Type = storageMigrating
	if have := apiextensions.FindCRDCondition(definition, c.Type); hasCondition(definition, c) && have.ObservedGeneration == definition.Generation {
		return nil
	}
	status := map[string]any{"conditions": []any{map[string]any{
		"type": string(c.Type), "status": string(c.Status), "reason": c.Reason, "message": c.Message,
		"observedGeneration": definition.Generation, "lastTransitionTime": s.now().UTC().Format(time.RFC3339),
	}}}
	if stored != nil {
		status["storedVersions"] = stored
	}
	return s.applyStatus(definitions, definition, migrationManager, status)
}
