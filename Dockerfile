# The command `flowsim` as an image:  docker build --tag flowsim .
# With the judge on Spark, and a Java runtime for it:  docker build --tag flowsim --build-arg EXTRAS=spark .

FROM python:3.12-slim AS build
WORKDIR /source
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY build_scripts ./build_scripts
RUN grep -E '^(editables|hatchling)==' requirements.lock > build-tools.txt \
    && pip install --no-cache-dir --constraint requirements.lock --requirement build-tools.txt
COPY flowsim ./flowsim
COPY docs ./docs
COPY scenarios ./scenarios
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.12-slim
ARG EXTRAS=""
COPY --from=build /source/requirements.lock /wheels/*.whl /tmp/flowsim/
RUN wheel="$(echo /tmp/flowsim/*.whl)" \
    && pip install --no-cache-dir --constraint /tmp/flowsim/requirements.lock "${wheel}${EXTRAS:+[$EXTRAS]}" \
    && rm -r /tmp/flowsim \
    && useradd --create-home --uid 1000 flowsim \
    && install --directory --owner=flowsim --group=flowsim /work
USER 1000
WORKDIR /work
COPY --chown=1000:1000 scenarios ./scenarios
ENTRYPOINT ["flowsim"]
CMD ["--help"]
