package audittrail

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// The patch of a webhook contains what was sent. A real server keeps it for the levels with request bodies, too.
func TestTheLogHasThePatchOfAWebhookFromTheLevelRequestOn(t *testing.T) {
	for level, want := range map[auditinternal.Level]string{
		auditinternal.LevelMetadata:        `{"mutation.webhook.admission.k8s.io/round_0_index_0":"m"}`,
		auditinternal.LevelRequest:         `{"mutation.webhook.admission.k8s.io/round_0_index_0":"m","patch.webhook.admission.k8s.io/round_0_index_0":"p"}`,
		auditinternal.LevelRequestResponse: `{"mutation.webhook.admission.k8s.io/round_0_index_0":"m","patch.webhook.admission.k8s.io/round_0_index_0":"p"}`,
	} {
		var to bytes.Buffer
		log := newWriter(&Log{Policy: &auditinternal.Policy{Rules: []auditinternal.PolicyRule{{Level: level}}}, To: &to})
		event := &auditinternal.Event{AuditID: "1", Stage: auditinternal.StageResponseComplete, Annotations: map[string]string{
			"mutation.webhook.admission.k8s.io/round_0_index_0": "m",
			"patch.webhook.admission.k8s.io/round_0_index_0":    "p",
		}}
		if err := log.write(event); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSpace(to.Bytes()), []byte("\n"))
		if len(lines) != 2 {
			t.Fatalf("%s: %d lines, want those of two stages", level, len(lines))
		}
		if diff := cmp.Diff(want, gjson.GetBytes(lines[1], "annotations").Raw); diff != "" {
			t.Errorf("%s (-want +got)\n%s", level, diff)
		}
		if len(event.Annotations) != 2 {
			t.Errorf("%s: the event itself has lost %d annotations", level, 2-len(event.Annotations))
		}
	}
}
