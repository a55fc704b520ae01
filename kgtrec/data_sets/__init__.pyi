from kgtrec.data_sets.get import cache_folder as cache_folder
from kgtrec.data_sets.get import get as get
from kgtrec.data_sets.registry import DataFile as DataFile
from kgtrec.data_sets.registry import DataSet as DataSet
from kgtrec.data_sets.registry import DataSets as DataSets
from kgtrec.data_sets.registry import data_set as data_set
from kgtrec.data_sets.registry import list_data_sets as list_data_sets
