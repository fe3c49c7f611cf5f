package schema_test

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/fakecluster/fakecluster/internal/json"
	"github.com/fakecluster/fakecluster/internal/schema"
	"github.com/fakecluster/fakecluster/internal/testing/schematest"
)

// propsOf is a schema, given as YAML.
func propsOf(t testing.TB, text string) *apiextensions.JSONSchemaProps {
	t.Helper()
	var v1 apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(text), &v1); err != nil {
		t.Fatal(err)
	}
	props := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, props, nil); err != nil {
		t.Fatal(err)
	}
	return props
}

// certificateSchema has the fields of cert-manager's Certificate that its objects use.
const certificateSchema = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    required: [issuerRef, secretName]
    properties:
      commonName: {type: string}
      dnsNames: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
      duration: {type: string}
      renewBefore: {type: string}
      revisionHistoryLimit: {type: integer, format: int32, minimum: 1}
      secretName: {type: string}
      isCA: {type: boolean}
      issuerRef:
        type: object
        required: [name]
        properties: {group: {type: string}, kind: {type: string}, name: {type: string}}
      privateKey:
        type: object
        properties:
          algorithm: {type: string, enum: [RSA, ECDSA, Ed25519]}
          encoding: {type: string, enum: [PKCS1, PKCS8]}
          rotationPolicy: {type: string, enum: [Never, Always]}
          size: {type: integer, format: int32}
      secretTemplate:
        type: object
        properties:
          annotations: {type: object, additionalProperties: {type: string}}
          labels: {type: object, additionalProperties: {type: string}}
      subject:
        type: object
        properties:
          organizations: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
          countries: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
      usages:
        type: array
        x-kubernetes-list-type: atomic
        items: {type: string, enum: [signing, digital signature, content commitment, key encipherment, server auth, client auth]}
  status:
    type: object
    properties:
      conditions:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [type]
        items:
          type: object
          required: [status, type]
          properties:
            lastTransitionTime: {type: string, format: date-time}
            message: {type: string}
            observedGeneration: {type: integer, format: int64}
            reason: {type: string}
            status: {type: string, enum: ["True", "False", Unknown]}
            type: {type: string}
      failedIssuanceAttempts: {type: integer}
      lastFailureTime: {type: string, format: date-time}
      nextPrivateKeySecretName: {type: string}
      notAfter: {type: string, format: date-time}
      notBefore: {type: string, format: date-time}
      renewalTime: {type: string, format: date-time}
      revision: {type: integer}
`

// certificate is an object as its controller has it, with two managers.
const certificate = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"annotations":{"cert-manager.io/issue-temporary-certificate":"true","example.com/team":"payments"},"creationTimestamp":"2026-01-02T03:04:05Z","finalizers":["example.com/protect"],"generation":2,"labels":{"app.kubernetes.io/instance":"shop","app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"shop","app.kubernetes.io/part-of":"payments"},"managedFields":[{"apiVersion":"cert-manager.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:cert-manager.io/issue-temporary-certificate":{},"f:example.com/team":{}},"f:finalizers":{".":{},"v:\"example.com/protect\"":{}},"f:labels":{".":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{}}},"f:spec":{".":{},"f:commonName":{},"f:dnsNames":{},"f:duration":{},"f:issuerRef":{},"f:privateKey":{".":{},"f:algorithm":{},"f:encoding":{},"f:rotationPolicy":{},"f:size":{}},"f:renewBefore":{},"f:revisionHistoryLimit":{},"f:secretName":{},"f:secretTemplate":{".":{},"f:annotations":{".":{},"f:example.com/reload":{}},"f:labels":{".":{},"f:app":{}}},"f:subject":{".":{},"f:countries":{},"f:organizations":{}},"f:usages":{}}},"manager":"helm","operation":"Update","time":"2026-01-02T03:04:05Z"},{"apiVersion":"cert-manager.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{".":{},"f:conditions":{".":{},"k:{\"type\":\"Issuing\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:notAfter":{},"f:notBefore":{},"f:renewalTime":{},"f:revision":{}}},"manager":"cert-manager-certificates-readiness","operation":"Update","subresource":"status","time":"2026-01-02T03:05:05Z"}],"name":"shop-tls","namespace":"payments","ownerReferences":[{"apiVersion":"networking.k8s.io/v1","blockOwnerDeletion":true,"controller":true,"kind":"Ingress","name":"shop","uid":"0b4c3a1e-9d0e-4c43-8a53-0c4a3f3a4b11"}],"resourceVersion":"4711","uid":"5a1f7b0c-1c1d-4f0e-8d6e-2a7b9c3d4e5f"},"spec":{"commonName":"shop.example.com","dnsNames":["shop.example.com","www.shop.example.com","api.shop.example.com"],"duration":"2160h0m0s","issuerRef":{"group":"cert-manager.io","kind":"ClusterIssuer","name":"letsencrypt"},"privateKey":{"algorithm":"RSA","encoding":"PKCS1","rotationPolicy":"Always","size":2048},"renewBefore":"360h0m0s","revisionHistoryLimit":1,"secretName":"shop-tls","secretTemplate":{"annotations":{"example.com/reload":"true"},"labels":{"app":"shop"}},"subject":{"countries":["DE"],"organizations":["Example"]},"usages":["digital signature","key encipherment","server auth","client auth"]},"status":{"conditions":[{"lastTransitionTime":"2026-01-02T03:05:05Z","message":"Certificate is up to date and has not expired","observedGeneration":2,"reason":"Ready","status":"True","type":"Ready"},{"lastTransitionTime":"2026-01-02T03:05:04Z","message":"The certificate has been successfully issued","observedGeneration":2,"reason":"Issued","status":"False","type":"Issuing"}],"notAfter":"2026-04-02T03:05:04Z","notBefore":"2026-01-02T03:05:04Z","renewalTime":"2026-03-18T03:05:04Z","revision":1}}`

func BenchmarkCertificate(b *testing.B) {
	s := schematest.NewSchema(b, propsOf(b, certificateSchema))
	obj, ok := json.Decode(certificate)
	if !ok {
		b.Fatal("the text is not read")
	}
	const everything = schema.Prune | schema.DropNulls | schema.Default
	if found := s.Node.Normalize(obj, schema.Walk{Do: everything, Check: schema.All, TrackUnknown: true}); found.Changed || !found.Has(schema.All) {
		b.Fatalf("%+v is found out", found)
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(certificate)))
		b.ReportAllocs()
		for b.Loop() {
			json.Decode(certificate)
		}
	})
	b.Run("settle", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Node.Normalize(obj, schema.Walk{Do: everything, Check: schema.All, TrackUnknown: true})
		}
	})
	b.Run("print", func(b *testing.B) {
		b.SetBytes(int64(len(certificate)))
		b.ReportAllocs()
		for b.Loop() {
			json.Encode(obj)
		}
	})
}
