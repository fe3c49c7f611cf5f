package builtin

import (
	"strings"

	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// storageVersionMigrations is the kind of migrations. Package lifecycle carries them out.
var storageVersionMigrations = []kind{{
	GroupVersionKind: storagemigrationv1.SchemeGroupVersion.WithKind("StorageVersionMigration"),
	names:            []string{"storageversionmigrations", "storageversionmigration"},
	clusterScoped:    true,
	conditionalOnly:  true,
	rules:            rules{prepare: keepMigrationStatus, validate: validateMigration, reset: []string{"status"}},
	status:           &rules{prepare: keepAllButMigrationStatus, validate: validateMigrationStatus, reset: []string{"metadata", "spec"}},
	columns: []column{
		{
			metav1.TableColumnDefinition{Name: "Name", Type: "string", Description: metaDoc["name"]},
			nameColumn.cell,
		},
		textColumn("Resource", "Fully qualified resource to migrate", 0, func(m *storagemigrationv1.StorageVersionMigration) any {
			return m.Spec.Resource.String()
		}),
	},
}}

func keepMigrationStatus(obj, old runtime.Object) {
	m := obj.(*storagemigrationv1.StorageVersionMigration)
	m.Status = storagemigrationv1.StorageVersionMigrationStatus{}
	if old != nil {
		m.Status = old.(*storagemigrationv1.StorageVersionMigration).Status
	}
}

func keepAllButMigrationStatus(obj, old runtime.Object) {
	m, was := obj.(*storagemigrationv1.StorageVersionMigration), old.(*storagemigrationv1.StorageVersionMigration)
	m.Spec = was.Spec
	metav1.ResetObjectMetaForStatus(&m.ObjectMeta, &was.ObjectMeta)
}

// validateMigration follows k8s.io/kubernetes' pkg/apis/storagemigration.
func validateMigration(obj, old runtime.Object) field.ErrorList {
	spec := obj.(*storagemigrationv1.StorageVersionMigration).Spec
	path := field.NewPath("spec")
	var errs field.ErrorList
	if name := spec.Resource.Resource; name == "" {
		errs = append(errs, field.Required(path.Child("resource", "resource"), "resource is required to be set"))
	} else if wrong := validation.IsDNS1035Label(name); len(wrong) > 0 {
		errs = append(errs, field.Invalid(path.Child("resource", "resource"), name, strings.Join(wrong, ",")))
	}
	if group := spec.Resource.Group; group != "" {
		if wrong := validation.IsDNS1123Subdomain(group); len(wrong) > 0 {
			errs = append(errs, field.Invalid(path.Child("resource", "group"), group, strings.Join(wrong, ",")))
		}
	}
	if old != nil {
		// The real server shows the fields of its own type, which has no JSON names.
		type internal struct{ Resource metav1.GroupResource }
		was := old.(*storagemigrationv1.StorageVersionMigration).Spec
		errs = append(errs, apivalidation.ValidateImmutableField(internal{spec.Resource}, internal{was.Resource}, path)...)
	}
	return errs
}

func validateMigrationStatus(obj, old runtime.Object) field.ErrorList {
	status, was := obj.(*storagemigrationv1.StorageVersionMigration).Status, old.(*storagemigrationv1.StorageVersionMigration).Status
	path := field.NewPath("status")
	var errs field.ErrorList
	if version := status.ResourceVersion; version != "" {
		if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
			errs = append(errs, field.Invalid(path.Child("resourceVersion"), version, err.Error()))
		}
	}
	errs = append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
	if was.ResourceVersion != "" && was.ResourceVersion != status.ResourceVersion {
		errs = append(errs, field.Invalid(path.Child("resourceVersion"), status.ResourceVersion, apivalidation.FieldImmutableErrorMsg))
	}
	is := func(s storagemigrationv1.StorageVersionMigrationStatus, condition storagemigrationv1.MigrationConditionType) bool {
		return meta.IsStatusConditionTrue(s.Conditions, string(condition))
	}
	running, succeeded, failed := is(status, storagemigrationv1.MigrationRunning), is(status, storagemigrationv1.MigrationSucceeded), is(status, storagemigrationv1.MigrationFailed)
	for _, rule := range []struct {
		broken bool
		detail string
	}{
		{succeeded && failed, "Both success and failed conditions cannot be true at the same time"},
		{succeeded && running, "Running condition cannot be true when success condition is true"},
		{failed && running, "Running condition cannot be true when failed condition is true"},
		{is(was, storagemigrationv1.MigrationSucceeded) && !succeeded, "Success condition cannot be set to false once it is true"},
		{is(was, storagemigrationv1.MigrationFailed) && !failed, "Failed condition cannot be set to false once it is true"},
	} {
		if rule.broken {
			errs = append(errs, field.Invalid(path.Child("conditions"), status.Conditions, rule.detail))
		}
	}
	return errs
}
