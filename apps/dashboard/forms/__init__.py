"""The forms: what people type, as objects; what the store refuses, beside the field it is about."""
