# lookback in a container, with the packages of requirements.lock and the embedded weights.
#   docker build -t lookback .                           torch without CUDA
#   docker build -t lookback:cuda --build-arg TORCH= .   torch with CUDA; run it with --gpus all
#   mkdir study && docker run --rm -v "$PWD/study:/study" --user "$(id -u):$(id -g)" lookback sh -c "lookback init . && make report"
FROM python:3.11-slim-bookworm

# OpenCV needs libgl1 and libglib2.0-0; some packages of the lock are built here
RUN apt-get update && apt-get install -y --no-install-recommends g++ libgl1 libglib2.0-0 make \
    && rm -rf /var/lib/apt/lists/*

# cpu, or empty for the build of torch with CUDA
ARG TORCH=cpu
ENV LOOKBACK_WEIGHTS=/opt/weights UV_CACHE_DIR=/opt/cache/uv UV_LINK_MODE=copy PIP_NO_CACHE_DIR=1
WORKDIR /opt/lookback
COPY Makefile pyproject.toml setup.py requirements.lock README.md LICENSE ./
COPY lib lib
COPY notebooks notebooks
COPY params params
COPY docs docs
RUN --mount=type=cache,target=/opt/cache make setup PYTHON=python3.11 TORCH="$TORCH"

# any user may run it: the home folder takes the caches of matplotlib and Jupyter
ENV PATH=/opt/lookback/.venv/bin:$PATH HOME=/opt/user
RUN mkdir -m 1777 /opt/user /study
WORKDIR /study
CMD ["lookback", "--help"]
