package application

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	v1beta2 "github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/dialect"
)

const (
	driverClaimPrefix = "spark.kubernetes.driver.volumes.persistentVolumeClaim."
	onDemand          = "OnDemand" // in a claim's name: Spark creates a claim for the pod (MountVolumesFeatureStep)
	noDriverClaim     = "requests a new claim for the driver, and the operator has no right to create claims; create the claim yourself and write its name into claimName"
)

// driverClaims rejects volumes of the driver for which Spark would create a PersistentVolumeClaim: volumes whose claim
// name contains OnDemand, and volumes with a storage class and a size.
//
// The operator has no right to create claims. Without this check, the API server would reject the claims with a message
// that says nothing about volumes. If spark-submit creates the driver, these volumes work, because spark-submit creates
// the claims with the rights of the driver's service account. The driver uses the same rights for the claims of its
// executors.
func driverClaims(app *v1beta2.SparkApplication) (wrong []*dialect.FieldError) {
	settings := app.Spec.SparkConf
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		rest, ok := strings.CutPrefix(key, driverClaimPrefix)
		name, setting, _ := strings.Cut(rest, ".")

		if !ok {
			continue
		}

		field := fmt.Sprintf("spec.sparkConf[%s]", key)

		_, sized := settings[driverClaimPrefix+name+".options.sizeLimit"]
		switch {
		case setting == "options.claimName" && strings.Contains(settings[key], onDemand):
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: noDriverClaim})
		case setting == "options.storageClass" && sized && !strings.Contains(settings[driverClaimPrefix+name+".options.claimName"], onDemand):
			wrong = append(wrong, &dialect.FieldError{Field: field, Message: noDriverClaim + ", and remove storageClass and sizeLimit"})
		}
	}

	mounted := map[string]bool{}
	for i := range app.Spec.Driver.VolumeMounts {
		mounted[app.Spec.Driver.VolumeMounts[i].Name] = true
	}

	for i, v := range app.Spec.Volumes {
		if claim := v.PersistentVolumeClaim; claim != nil && mounted[v.Name] && strings.Contains(claim.ClaimName, onDemand) {
			wrong = append(wrong, &dialect.FieldError{Field: fmt.Sprintf("spec.volumes[%d].persistentVolumeClaim.claimName", i), Message: noDriverClaim})
		}
	}
	return wrong
}

// languages maps the extension of a main file to the language that Spark assumes for it (SparkSubmit).
var languages = map[string]v1beta2.SparkApplicationType{
	".py": v1beta2.SparkApplicationTypePython, ".jar": v1beta2.SparkApplicationTypeJava,
	".R": v1beta2.SparkApplicationTypeR, ".r": v1beta2.SparkApplicationTypeR,
}

// typeWarnings returns a warning if the main file contradicts spec.type. Such an application is not rejected, because
// Spark ignores the type and runs the language of the main file.
func typeWarnings(spec *v1beta2.SparkApplicationSpec) []string {
	ending := path.Ext(spec.MainApplicationFile)
	language, known := languages[ending]

	says := cmp.Or(spec.Type, language)
	if says == v1beta2.SparkApplicationTypeScala {
		says = v1beta2.SparkApplicationTypeJava
	}

	if !known || says == language {
		return nil
	}
	return []string{fmt.Sprintf("spec.type is %s, but spec.mainApplicationFile ends with %s; Spark uses the language of the file", spec.Type, ending)}
}
