"""Fields that take text from uploaded files: YAML, which can also be pasted, CSV, recordings."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from apps.cluster.errors import ApiError
from apps.cluster.manifests.text_files import File, read_files

#: Starts the text of a file that is not UTF-8; no YAML text contains it.
_NOT_UTF8 = "\0not UTF-8\0"


class YamlArea(forms.Textarea):
    """A text area for YAML, and unless it is a `plain` one a file whose text replaces its text.

    With scripts the text of a chosen or dropped file appears in the area at once.
    """

    def __init__(
        self, rows: int, *, css: str = "code", placeholder: str = "", plain: bool = False
    ) -> None:
        if not plain:
            self.template_name = "dashboard/inc/yaml_area.html"
        attributes = {"rows": rows, "class": css, "placeholder": placeholder}
        given = {name: value for name, value in attributes.items() if value}
        super().__init__({**given, "spellcheck": "false"})

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        """The text of the file if one was chosen, otherwise the text of the area."""
        file = files.get(f"{name}_file")
        if file is None:
            return super().value_from_datadict(data, files, name)
        file.seek(0)
        try:
            return str(file.read(), "utf-8-sig")
        except UnicodeDecodeError:
            return f"{_NOT_UTF8}{file.name}"


class YamlField(forms.CharField):
    """YAML as text."""

    def __init__(
        self,
        *,
        rows: int,
        label: str = "YAML",
        css: str = "code",
        example: str = "",
        plain: bool = False,
        **kwargs: Any,
    ) -> None:
        area = YamlArea(rows, css=css, placeholder=example, plain=plain)
        super().__init__(label=label, strip=False, widget=area, **kwargs)

    def clean(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith(_NOT_UTF8):
            raise ValidationError(f"the file {value.removeprefix(_NOT_UTF8)} is not UTF-8 text")
        if isinstance(value, str) and "\0" in value:
            raise ValidationError("this is not text: it contains NUL characters")
        return super().clean(value)

    def prepare_value(self, value: Any) -> Any:
        """The text shown; empty for what is no text."""
        return "" if isinstance(value, str) and "\0" in value else value


class KeptFileInput(forms.FileInput):
    """A file input that keeps the file when the form is shown again with errors.

    Browsers do not fill in file inputs, so the page has the name and the text of the file.
    """

    template_name = "dashboard/inc/kept_file.html"

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Any:
        """The chosen file, or the name and the text of the file that the page kept."""
        file = super().value_from_datadict(data, files, name)
        if file is not None:
            return file
        kept = data.get(f"{name}_kept")
        return [kept, data.get(f"{name}_text", "")] if kept else None

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return name not in files and f"{name}_kept" not in data

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context = super().get_context(name, None, attrs)
        if isinstance(value, UploadedFile):
            value.seek(0)
            value = [value.name, str(value.read(), "utf-8-sig", "replace")]
        context["widget"]["kept"] = value if isinstance(value, list) else None
        if value:
            context["widget"]["attrs"].pop("required", None)
        return context


class CsvField(forms.FileField):
    """A CSV file -> its name and text."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=KeptFileInput({"accept": ".csv,text/csv"}), **kwargs)

    def clean(self, data: Any, initial: Any = None) -> Any:
        if isinstance(data, list):
            return data
        file: UploadedFile[Any] | None = super().clean(data, initial)
        if file is None:
            return None
        try:
            return [file.name, str(file.read(), "utf-8-sig")]
        except UnicodeDecodeError as error:
            raise ValidationError(f"{file.name} is not UTF-8 text: {error}") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        return data


class _SeveralFilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class _DumpsInput(_SeveralFilesInput):
    """With scripts a single text appears in the text area whose id is `fills`."""

    template_name = "dashboard/inc/dumps_input.html"

    def __init__(self, fills: str) -> None:
        super().__init__({"data-fills": fills})


class DumpsField(forms.FileField):
    """Any number of files of a cluster -> the texts in them."""

    def __init__(self, *, fills: str, **kwargs: Any) -> None:
        super().__init__(widget=_DumpsInput(fills), **kwargs)

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = [super(DumpsField, self).clean(each, initial) for each in data or ()]
        try:
            return read_files(File(file.name, file.read()) for file in files)
        except ApiError as error:
            raise ValidationError(error.message) from error


class RecordingField(forms.FileField):
    """A recording -> its name and its text; that of a binary file is base64."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        file: UploadedFile[Any] | None = super().clean(data, initial)
        return None if file is None else [file.name, _read_recording(file)]


class RecordingsField(forms.FileField):
    """Any number of recordings, dumps and archives -> their contents by name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=_SeveralFilesInput(), label="Files", **kwargs)

    def clean(self, data: Any, initial: Any = None) -> Any:
        files = [super(RecordingsField, self).clean(each, initial) for each in data or ()]
        return {file.name: file.read() for file in files}


def _read_recording(file: UploadedFile[Any]) -> str:
    content = file.read()
    try:
        return str(content, "utf-8-sig")
    except UnicodeDecodeError:
        return b64encode(content).decode()
