from kgtrec.explore.explore import Exploration as Exploration
from kgtrec.explore.explore import explore as explore
