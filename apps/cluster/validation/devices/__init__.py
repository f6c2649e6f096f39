"""ResourceClaims, their templates, DeviceClasses and ResourceSlices."""
